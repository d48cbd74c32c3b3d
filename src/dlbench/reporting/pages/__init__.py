"""Pages that open offline: the report of runs, and the browser of the dataset; and the report's plots as files.

A report of thirteen thousand candidates must open at once: the list has a short record of each instance, and the rest
is in a compressed bundle per instance, which is read when it is opened.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import chain, count
from operator import itemgetter
from pathlib import Path
from typing import Any

from dlbench import __version__
from dlbench.dataset import AXES, Benchmark, Instance
from dlbench.dataset.file_task import KINDS, FileTask
from dlbench.dataset.statistics import describe
from dlbench.dataset.target import TargetError, find_target, render_signature, render_skeleton, without_docstring
from dlbench.dataset.tracks import TrackBenchmark, TrackInstance, find_labels, read_tasks
from dlbench.reporting.candidates import LEVELS, Candidates, find_difficulty, informs_difficulty
from dlbench.reporting.charts import Key, rect, run_class, shape, stand_alone
from dlbench.reporting.charts.bars import draw_counts
from dlbench.reporting.dataset_card import find_distributions, tabulate_records
from dlbench.reporting.leaderboard.entry import spell_tests
from dlbench.reporting.pages.render import assemble, pack, render_section
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import PAGE, Block, Plot, SideBySide, Table, make_sections
from dlbench.reporting.tables import SHORT_LABELS, render_label, some
from dlbench.reporting.trajectories import read_trajectory
from dlbench.runs.verdict import Status
from dlbench.scoring import Tally
from dlbench.scoring.breakdowns import sort_labels
from dlbench.scoring.tally import group_by

_SHOWN: tuple[str, ...] = ("model", "technique", "samples", "temperature", "top_p", "max_tokens", "reasoning_effort")
_SHOWN += ("seed", "shots", "benchmark", "dlbench")
"""Settings for readers; base URLs and paths are private."""
_FACETS: dict[str, Sequence[str]] = {axis: list(labels) for axis, labels in AXES.items()}
_FACETS |= {"difficulty": LEVELS, "project": (), "framework": ()}
"""What to filter by, and the order of its values; others follow by name."""

ReadModule = Callable[[Instance], str | None]
"""The text of an instance's module, or None where its source is not on this machine."""

_OUR_MESSAGES = {
    *(Status.TIMEOUT, Status.NO_CODE, Status.SYNTAX_ERROR, Status.MISSING_TARGET),
    *(Status.TAMPERED, Status.UNCONFIRMED),
}
"""Their messages are ours; those of other statuses may quote a project or its tests."""
_ERROR_NAME = re.compile(r"\b[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b")


@dataclass(frozen=True)
class Judged:
    verdicts: Mapping[str, Sequence[Mapping[str, Any]]]
    """By instance, in the order of samples."""
    candidates: Candidates
    folder: Path


def write_page(
    data: ReportData, candidates: Mapping[str, Candidates], read_module: ReadModule, *, public: bool = False
) -> str:
    """`candidates` by the name of a run. `public`: without any line of a project's own code."""
    data = data.ranked()
    benchmark = data.benchmark
    judged = []
    for name, run in data.runs.items():
        verdicts = group_by(sorted(run.verdicts, key=itemgetter("sample")), itemgetter("instance"))
        judged.append(Judged(verdicts, candidates.get(name, {}), run.folder))
    known = dict.fromkeys(instance for each in judged for instance in each.verdicts)
    instances = [one for name, one in benchmark.instances.items() if name in known]
    tallies = [found for name, found in data.tallies.items() if informs_difficulty(data.runs[name])]
    records = [
        describe_instance(one, benchmark, tallies) | {"results": [_count(each, one.id) for each in judged]}
        for one in instances
    ]
    reference = partial(read_reference, read_module=read_module, public=public)
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
            "index": _make_index("report", records, runs=runs, statuses=list(Status), guessed=not tallies),
            "bundles": [pack(bundle_verdicts(one, judged, public=public) | reference(one)) for one in instances],
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
    tasks = {track: read_tasks(benchmark.root, track).values() for track in KINDS}
    counts = find_distributions(instances, describe(benchmark, instances))
    counts["difficulty"] = {level: levels[level] for level in LEVELS if levels[level]}
    plots = []
    for name, found in counts.items():
        labelled = {render_label(key) if name in AXES else key: count for key, count in found.items()}
        plots.append(Plot(draw_counts(f"Instances by {name}", labelled), f"By {name}"))
    projects = len({one.project for one in instances})
    reference = partial(read_reference, read_module=read_module, public=public)
    return assemble(
        "DL-Bench dataset",
        f"{len(instances)} instances of {projects} projects, benchmark {benchmark.version}, dlbench {__version__}",
        render_section("counts", "Distributions", [plots])
        + "".join(
            render_section(f"{track}s", title, [Table(tabulate_records(records, benchmark), title)])
            for track, records in tasks.items()
            if records and (title := f"{track.capitalize()} tasks")
        ),
        {
            "index": _make_index("browse", records, runs=[], statuses=[], guessed=not runs),
            "bundles": [pack({"tests": list(one.tests)} | reference(one)) for one in instances],
        },
    )


def _make_index(kind: str, records: Sequence[Mapping[str, Any]], **facts: object) -> str:
    """What the page's scripts need before an instance is opened."""
    facets = [
        {"key": key, "values": sort_labels({record[key] for record in records}, order)}
        for key, order in _FACETS.items()
        if all(key in record for record in records)
    ]
    axes = [facet["key"] for facet in facets if facet["key"] in AXES]
    return pack({"kind": kind, **facts, "axes": axes, "facets": facets, "names": SHORT_LABELS, "instances": records})


def _count(judged: Judged, instance: str) -> dict[str, int] | None:
    """How many samples have each status; None where the run has no sample of the instance."""
    records = judged.verdicts.get(instance)
    return dict(Counter(record["status"] for record in records)) if records else None


def describe_instance(
    instance: TrackInstance, benchmark: TrackBenchmark, tallies: Sequence[Mapping[str, Tally]]
) -> dict[str, Any]:
    """For the list: everything to filter and sort by."""
    project = benchmark.project_of(instance)
    found = {
        "id": instance.id,
        "project": instance.project,
        "framework": str(project.framework),
        "difficulty": find_difficulty(instance, tallies),
        "tests": len(instance.tests),
        "release": f"{project.version}, {project.license}",
    }
    if isinstance(instance, FileTask):
        asked = f"Write {instance.definitions} functions and methods again, in {', '.join(instance.files)}."
        asked = instance.description.strip() or asked
        measures = {"loc": instance.lines, "seconds": instance.seconds}
        facts = {"path": some(len(instance.files), "module"), "prompt": asked, "measures": measures, "votes": None}
        return found | facts | find_labels(instance, ()) | {"introduced": str(instance.find_date(project))}
    return found | {
        **find_labels(instance, ()),
        "introduced": str(instance.introduced),
        "prompt": instance.prompt.strip(),
        "path": instance.path,
        "measures": instance.measures.model_dump(exclude_none=True),
        "votes": instance.votes.model_dump(mode="json") if instance.votes else None,
    }


def read_reference(instance: TrackInstance, read_module: ReadModule, *, public: bool) -> dict[str, str]:
    """Signature, skeleton and reference, or a note why they are missing; none of it on a public page."""
    if isinstance(instance, FileTask):
        return {"note": "dlbench task checkout writes what is given and the visible tests. Below are the hidden tests."}
    if public:
        return {"note": "The project's own code is left out of a public page."}
    module = read_module(instance)
    if module is None:
        return {"note": f"The source of {instance.project} is not on this machine: dlbench prepare fetches it."}
    try:
        target = find_target(module, instance.qualname)
    except (SyntaxError, TargetError) as error:
        return {"note": f"The project's own code cannot be read: {error}"}
    if target.sha256 != instance.sha256:
        return {"note": "The source on this machine holds another version of the function."}
    return {
        "signature": render_signature(target.node),
        "skeleton": render_skeleton(target),
        "reference": "\n".join(line.removeprefix(target.indent) for line in without_docstring(target).split("\n")),
    }


def bundle_verdicts(instance: TrackInstance, runs: Sequence[Judged], *, public: bool) -> dict[str, Any]:
    """All verdicts on an instance; each text is stored once in a list, and verdicts refer to it by index."""
    texts: dict[str, int] = {}

    def index_of(text: str) -> int:
        return texts.setdefault(text, len(texts))

    tests = list(instance.hidden if isinstance(instance, FileTask) else instance.tests)
    judged = []
    for run in runs:
        rows = []
        for record in run.verdicts.get(instance.id, ()):
            candidate = run.candidates.get((instance.id, record["sample"]))
            errors = record.get("errors")
            row = {
                "sample": record["sample"],
                "status": record["status"],
                "outcomes": spell_tests(record["tests"], tests),
                "seconds": record["seconds"],
                "memory": record["memory_mb"],
            }
            is_ours = record["status"] in _OUR_MESSAGES
            message = record["message"] or str(record.get("plus_message", ""))
            if message := name_errors(message) if public and not is_ours else message:
                row["message"] = index_of(message)
            if isinstance(errors, dict):
                row["errors"] = {
                    tests.index(test): index_of(name_errors(error) if public else error)
                    for test, error in errors.items()
                    if test in tests and isinstance(error, str)
                }
            if not public and (trajectory := read_trajectory(run.folder, record)) is not None:
                row["trajectory"] = trajectory
            if candidate is not None:
                row |= {"text": index_of(candidate.text), "code": candidate.is_code, "cut": candidate.left_out}
            rows.append(row)
        judged.append(rows)
    return {"tests": tests, "runs": judged, "texts": list(texts)}


def name_errors(message: str) -> str:
    """Only the names of errors, where a message may quote a project."""
    return ", ".join(dict.fromkeys(_ERROR_NAME.findall(message)))


_TITLE = re.compile(r"""aria-label=["'](.*?)["']>""")
_STATUS = re.compile(r'class="status (\w+)"')


def draw_plots(data: ReportData) -> dict[str, str]:
    """The plots of the page as SVG files by name, each with its own legend: no file can show other numbers."""
    found: dict[str, str] = {}
    for _, _, blocks in make_sections(data, PAGE):
        for svg in _find_plots(blocks):
            title = _TITLE.search(svg)
            assert title is not None
            plain = re.sub(r"[^a-z0-9]+", "-", title[1].lower()).strip("-") or "plot"
            names = chain([plain], (f"{plain}-{number}" for number in count(2)))
            found[next(name for name in names if name not in found)] = stand_alone(svg, _make_legend(svg, data.names))
    return found


def _find_plots(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Plot(svg) | SideBySide(Plot(svg)):
                yield svg
            case list(plots):
                yield from (plot.svg for plot in plots)


def _make_legend(svg: str, names: Sequence[str]) -> list[Key]:
    if statuses := dict.fromkeys(_STATUS.findall(svg)):
        return [(rect(-4, -4, 8, 8, kind=f"status {status}"), render_label(status)) for status in statuses]
    used = [place for place in range(len(names)) if f'class="{run_class(place)}"' in svg]
    return [(shape(place, 0, 0), names[place]) for place in used]
