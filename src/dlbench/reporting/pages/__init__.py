"""Pages that open offline: the report of runs, and the browser of the dataset.

Each page is one file. It sends no request and executes nothing that a model wrote.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dlbench import __version__
from dlbench.dataset import AXES, Benchmark, Instance
from dlbench.dataset.statistics import describe
from dlbench.reporting.candidates import LEVELS, Candidates, informs_difficulty
from dlbench.reporting.charts import draw_counts
from dlbench.reporting.dataset_card import find_distributions
from dlbench.reporting.formatting import SHORT_LABELS, render_label, some
from dlbench.reporting.pages.data import (
    STATUSES,
    Judged,
    ReadModule,
    bundle_verdicts,
    describe_instance,
    find_facets,
    read_reference,
)
from dlbench.reporting.pages.render import assemble, pack, render_section
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import PAGE, Gallery, Plot, make_sections
from dlbench.scoring import Tally

_SHOWN = ("model", "technique", "samples", "temperature", "max_tokens", "seed", "shots", "benchmark", "dlbench")
"""Settings for readers; base URLs and paths are private."""


def write_page(
    data: ReportData, candidates: Mapping[str, Candidates], read_module: ReadModule, *, public: bool = False
) -> str:
    """`candidates` by the name of a run. `public`: without any line of a project's own code."""
    data = data.ranked()
    benchmark = data.benchmark
    judged = [Judged(_by_instance(run.verdicts), candidates.get(name, {})) for name, run in data.runs.items()]
    known = dict.fromkeys(instance for each in judged for instance in each.verdicts)
    instances = [one for name, one in benchmark.instances.items() if name in known]
    tallies = [found for name, found in data.tallies.items() if informs_difficulty(data.runs[name])]
    records = [
        describe_instance(one, benchmark, tallies) | {"results": [_count(each, one.id) for each in judged]}
        for one in instances
    ]
    bundles = [bundle_verdicts(one, judged, public=public) for one in instances]
    runs = [
        {"name": name, "config": {key: str(run.config[key]) for key in _SHOWN if key in run.config}}
        for name, run in data.runs.items()
    ]
    caveats = "".join(f'<p class="warning" role="alert">{escape(line)}</p>' for line in data.warnings)
    return assemble(
        "DL-Bench report",
        f"{some(len(runs), 'run')} on {some(len(instances), 'instance')} of benchmark {benchmark.version},"
        f" dlbench {__version__}",
        caveats + "".join(render_section(*each) for each in make_sections(data, PAGE)),
        {
            "index": _make_index("report", records, runs=runs, statuses=STATUSES, guessed=not tallies),
            "bundles": _pack_bundles(bundles, instances, read_module, public),
        },
    )


def write_browser(
    benchmark: Benchmark,
    instances: Sequence[Instance],
    read_module: ReadModule,
    runs: Sequence[Mapping[str, Tally]] = (),
    *,
    public: bool = False,
) -> str:
    """`runs`: tallies of runs that show the difficulty of an instance; without any it is estimated from its size."""
    records = [describe_instance(one, benchmark, runs) for one in instances]
    levels = Counter(record["difficulty"] for record in records)
    counts = find_distributions(instances, describe(benchmark, instances))
    counts["difficulty"] = {level: levels[level] for level in LEVELS if levels[level]}
    plots = []
    for name, found in counts.items():
        labelled = {render_label(key) if name in AXES else key: count for key, count in found.items()}
        plots.append(Plot(draw_counts(f"Instances by {name}", labelled), f"By {name}"))
    projects = len({one.project for one in instances})
    return assemble(
        "DL-Bench dataset",
        f"{len(instances)} instances of {projects} projects, benchmark {benchmark.version}, dlbench {__version__}",
        render_section("counts", "Distributions", [Gallery(plots)]),
        {
            "index": _make_index("browse", records, runs=[], statuses=[], guessed=not runs),
            "bundles": _pack_bundles([{"tests": list(one.tests)} for one in instances], instances, read_module, public),
        },
    )


def _make_index(kind: str, records: Sequence[Mapping[str, Any]], **facts: object) -> str:
    """What the page's scripts need before an instance is opened."""
    return pack(
        {"kind": kind, **facts, "facets": find_facets(records), "names": SHORT_LABELS, "instances": list(records)}
    )


def _pack_bundles(
    bundles: Sequence[dict[str, Any]], instances: Sequence[Instance], read_module: ReadModule, public: bool
) -> list[str]:
    """One per instance, each with the reference where it may be shown."""
    return [
        pack(bundle | read_reference(one, None if public else read_module(one), public=public))
        for bundle, one in zip(bundles, instances, strict=True)
    ]


def _by_instance(verdicts: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in verdicts:
        found[record["instance"]].append(record)
    return {instance: sorted(records, key=lambda record: record["sample"]) for instance, records in found.items()}


def _count(judged: Judged, instance: str) -> dict[str, int] | None:
    """How many samples have each status; None where the run has no sample of the instance."""
    records = judged.verdicts.get(instance)
    return dict(Counter(record["status"] for record in records)) if records else None


__all__ = ["write_browser", "write_page"]
