"""What does a person look at after a run? One page with the scores, and behind each of them every candidate."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from dlbench import __version__
from dlbench.reporting.candidates import Candidates
from dlbench.reporting.difficulty import tells_difficulty
from dlbench.reporting.page.assemble import assemble, pack
from dlbench.reporting.page.facets import find_facets
from dlbench.reporting.page.overview import render_overview
from dlbench.reporting.page.records import (
    STATUSES,
    Judged,
    ReadModule,
    bundle_verdicts,
    describe_instance,
    read_reference,
)
from dlbench.reporting.page.views import SHORT
from dlbench.reporting.standing import Standing

_SHOWN = ("model", "technique", "samples", "temperature", "max_tokens", "seed", "shots", "benchmark", "dlbench")
"""Settings that a reader asks for; a base URL or a path is nobody's business."""


def write_page(
    standing: Standing, candidates: Mapping[str, Candidates], read_module: ReadModule, *, public: bool = False
) -> str:
    """`candidates` by the name of a run. `public`: without a line of a project's own code."""
    standing = standing.ranked()
    benchmark = standing.benchmark
    judged = [Judged(_by_instance(run.verdicts), candidates.get(name, {})) for name, run in standing.runs.items()]
    asked = dict.fromkeys(instance for each in judged for instance in each.verdicts)
    instances = [one for name, one in benchmark.instances.items() if name in asked]
    tallies = [found for name, found in standing.tallies.items() if tells_difficulty(standing.runs[name])]
    records = [
        describe_instance(one, benchmark, tallies) | {"results": [_count(each, one.id) for each in judged]}
        for one in instances
    ]
    bundles = []
    for one in instances:
        module = None if public else read_module(one)
        bundles.append(pack(bundle_verdicts(one, judged, public=public) | read_reference(one, module, public=public)))
    runs = [{"name": name, "config": _choose(run.config)} for name, run in standing.runs.items()]
    index = {
        "kind": "report",
        "runs": runs,
        "statuses": STATUSES,
        "facets": find_facets(records),
        "guessed": not tallies,
        "names": SHORT,
        "instances": records,
    }
    about = f"{_some(len(runs), 'run')} on {_some(len(instances), 'instance')} of benchmark {benchmark.version}"
    return assemble(
        "DL-Bench report",
        f"{about}, dlbench {__version__}",
        render_overview(standing),
        {"index": pack(index), "bundles": bundles},
    )


def _by_instance(verdicts: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in verdicts:
        found[record["instance"]].append(record)
    return {instance: sorted(records, key=lambda record: record["sample"]) for instance, records in found.items()}


def _count(judged: Judged, instance: str) -> dict[str, int] | None:
    """How many samples have each status; None where the run was not asked."""
    records = judged.verdicts.get(instance)
    return dict(Counter(record["status"] for record in records)) if records else None


def _choose(config: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(config[key]) for key in _SHOWN if key in config}


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
