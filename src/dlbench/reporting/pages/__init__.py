"""Pages that open offline: all in one file, and nothing in it asks another host or runs what a model wrote.

What does a person look at after a run? One page with the scores, and behind each of them every candidate.

What is in the dataset? The same page without runs: every instance with its prompt, tests, labels and measures.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from dlbench import __version__
from dlbench.dataset import AXES, Benchmark, Instance
from dlbench.dataset.statistics import describe
from dlbench.reporting.candidates import LEVELS, Candidates, informs_difficulty
from dlbench.reporting.charts import draw_counts
from dlbench.reporting.dataset_card import find_distributions
from dlbench.reporting.pages import render
from dlbench.reporting.pages.data import (
    STATUSES,
    Judged,
    ReadModule,
    bundle_verdicts,
    describe_instance,
    find_facets,
    read_reference,
)
from dlbench.reporting.pages.render import assemble, pack
from dlbench.reporting.pages.sections import SHORT, render_label, render_overview
from dlbench.reporting.report_data import ReportData
from dlbench.scoring import Tally

_SHOWN = ("model", "technique", "samples", "temperature", "max_tokens", "seed", "shots", "benchmark", "dlbench")
"""Settings that a reader asks for; a base URL or a path is nobody's business."""


def write_page(
    standing: ReportData, candidates: Mapping[str, Candidates], read_module: ReadModule, *, public: bool = False
) -> str:
    """`candidates` by the name of a run. `public`: without a line of a project's own code."""
    standing = standing.ranked()
    benchmark = standing.benchmark
    judged = [Judged(_by_instance(run.verdicts), candidates.get(name, {})) for name, run in standing.runs.items()]
    asked = dict.fromkeys(instance for each in judged for instance in each.verdicts)
    instances = [one for name, one in benchmark.instances.items() if name in asked]
    tallies = [found for name, found in standing.tallies.items() if informs_difficulty(standing.runs[name])]
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


def write_browser(
    benchmark: Benchmark,
    instances: Sequence[Instance],
    read_module: ReadModule,
    runs: Sequence[Mapping[str, Tally]] = (),
    *,
    public: bool = False,
) -> str:
    """`runs`: tallies of runs that tell how hard an instance is; guessed from its size without any."""
    records = [describe_instance(one, benchmark, runs) for one in instances]
    bundles = []
    for one in instances:
        module = None if public else read_module(one)
        bundles.append(pack({"tests": list(one.tests), **read_reference(one, module, public=public)}))
    index = {
        "kind": "browse",
        "runs": [],
        "statuses": [],
        "facets": find_facets(records),
        "guessed": not runs,
        "names": SHORT,
        "instances": records,
    }
    projects = len({one.project for one in instances})
    about = f"{len(instances)} instances of {projects} projects, benchmark {benchmark.version}, dlbench {__version__}"
    found = Counter(record["difficulty"] for record in records)
    overview = _draw_dataset(benchmark, instances, {level: found[level] for level in LEVELS if found[level]})
    return assemble("DL-Bench dataset", about, overview, {"index": pack(index), "bundles": bundles})


def _draw_dataset(benchmark: Benchmark, instances: Sequence[Instance], difficulty: Mapping[str, int]) -> str:
    counts = find_distributions(instances, describe(benchmark, instances)) | {"difficulty": dict(difficulty)}
    figures = [
        render.figure(
            draw_counts(f"Instances by {name}", {_name(name, key): n for key, n in found.items()}), f"By {name}"
        )
        for name, found in counts.items()
    ]
    return render.section("counts", "What there is", render.gallery(*figures))


def _name(axis: str, key: str) -> str:
    return render_label(key) if axis in AXES else key


__all__ = ["write_browser", "write_page"]
