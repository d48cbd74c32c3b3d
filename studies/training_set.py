"""Make the facts of the training set (`training/`) from projects that the benchmark does not have.

`measure --work WORK` runs the construction steps on every project, and the admission checks on documented functions; run it
again to resume. `write --work WORK` adds what is new to the facts: it leaves out near copies and weak tests, predicts stages,
and splits by project.
"""

import argparse
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from packaging.utils import canonicalize_name

from dlbench import dataset
from dlbench.cli.app import WorkerOptions
from dlbench.cli.construct_common import make_construction_engine
from dlbench.cli.output import log
from dlbench.construction import Row, WorkFolder, for_each_project
from dlbench.construction.labelling.catalogue import Entry, read_catalogue
from dlbench.construction.pipeline import Pipeline
from dlbench.construction.project_spec import read_specs
from dlbench.construction.screening import find_duplicates
from dlbench.construction.trace import LEAST_TESTS, Trace, choose_tests
from dlbench.construction.write_instances import (
    LAST_ANSWERS,
    PLACEHOLDER,
    copy_project,
    make_instance,
    write_instance,
    write_prompt,
)
from dlbench.dataset import Benchmark
from dlbench.dataset.leakage import find_leaks
from dlbench.dataset.loading import Kind
from dlbench.dataset.target import TargetError, find_target
from dlbench.generation.sources import Sources
from dlbench.generation.techniques.examples import NearestPrompts
from dlbench.parsing import parse
from dlbench.workspace import fetch

MUTANTS = 6
"""Of each reference; half as many as in the benchmark, which saves a third of the time."""
BATCH = 10
"""Functions checked between two looks at the clock; each batch loads the project anew."""
MUTATION_SCORE = 0.4
"""The least, as in the benchmark and in `training/rules.toml`."""
REASON = "stage predicted from the documentation; task and data not labelled"


def measure(
    projects: Path,
    work: Path,
    names: list[str],
    workers: int,
    most: int,
    seconds: float,
    minutes: float,
    slowest: float,
) -> None:
    """Go on with the projects that are neither finished nor failed, or with those of the names, in their order."""
    benchmark = {canonicalize_name(name) for name in dataset.load().projects}
    specs = {one.name: one for one in read_specs(projects) if canonicalize_name(one.name) not in benchmark}
    folder, engine = WorkFolder(work), make_construction_engine(WorkerOptions(workers))
    failed = {row["project"] for row in folder.read("left_out")} if folder.has("left_out") else set()
    chosen = names or [name for name in specs if name not in failed and not folder.has("time", name)]
    pipelines = (Pipeline(engine, folder, specs[name], log, workers=workers) for name in chosen)
    for_each_project(folder, pipelines, lambda one: measure_project(one, most, seconds, minutes, slowest), log)


def measure_project(pipeline: Pipeline, most: int, seconds: float, minutes: float, slowest: float) -> None:
    """Check functions, those with spare and quick tests first, until `most` are accepted or the time is over."""
    began, folder, name = time.monotonic(), pipeline.work, pipeline.name
    for step, do in {
        "collected": pipeline.collect,
        "trace": lambda: pipeline.trace(seconds),
        "functions": pipeline.extract,
        "screened": pipeline.screen,
    }.items():
        if not folder.has(step, name):
            do()
    rows = [row for row in folder.read("screened", name) if row["kept"]]
    took = list_test_seconds(rows, pipeline.read_trace())
    # With spare tests first: of the fewest allowed, none may pass on a stub.
    ranks = {key: (len(each) <= LEAST_TESTS, sum(each)) for key, each in took.items()}
    quick = sorted((row for row in rows if sum(took[row["id"]]) <= slowest), key=lambda row: ranks[row["id"]])
    documented = [row["id"] for row in quick if find_prompt(row, pipeline.prepared.tree)]
    log(
        f"{name}: of {len(rows)} screened functions {len(quick)} have quick tests; {len(documented)} are documented too"
    )
    left = documented
    while left and time.monotonic() - began < 60 * minutes and (missing := most - count_accepted(folder, name)) > 0:
        batch, left = left[: min(BATCH, missing)], left[min(BATCH, missing) :]
        pipeline.admit(like=batch, mutants=MUTANTS)
    spent = time.monotonic() - began
    folder.write("time", [{"seconds": round(spent), "functions": len(documented)}], name)
    log(f"{name}: {count_accepted(folder, name)} accepted in {spent:.0f} s")


def list_test_seconds(rows: list[Row], found: Trace) -> dict[str, list[float]]:
    """By function, how long each of the tests took that would judge it."""
    each = {test.id: test.seconds for test in found.tests}
    numbers = {row["id"]: found.numbers[row["path"], row["first"], row["qualname"].rpartition(".")[2]] for row in rows}
    return {key: [each[test] for test in choose_tests(number, found.tests)] for key, number in numbers.items()}


def count_accepted(folder: WorkFolder, project: str) -> int:
    known = folder.read_by_id("measured", project).values() if folder.has("measured", project) else ()
    return sum(row["admissible"] and is_tested_well(row) for row in known)


def is_tested_well(measured: Row) -> bool:
    return bool(measured["killed"] >= MUTATION_SCORE * max(1, measured["mutants"]))


def find_prompt(row: Row, tree: Path) -> str:
    """The prompt that the user's machine will make; empty if there is none, or if it contains code of the reference."""
    source = (tree / row["path"]).read_text(encoding="utf-8")
    module = parse(source)
    try:
        target = find_target(source, row["qualname"], module)
    except TargetError:
        return ""
    prompt = write_prompt(target)
    leaks = find_leaks(prompt, module, target)
    return "" if any(leak.kind is not Kind.PROMPT_LEAKS_DOCSTRING for leak in leaks) else prompt


def write(work: Path, out: Path, share: float) -> None:
    add_facts(WorkFolder(work), out, dataset.load(), share)


def add_facts(folder: WorkFolder, out: Path, benchmark: Benchmark, share: float) -> None:
    """Add what is admissible, has a prompt, tests that find mistakes, and is no near copy."""
    made = dataset.load(folder.root / "benchmark")
    before = dataset.load(out)
    sources = Sources(before, log)
    segments = {key: sources.reference(key) for key in before.instances}
    prompts: dict[str, str] = {}
    entries: dict[str, Entry] = {}
    for entry in read_catalogue(folder).values():
        if entry.id in segments or not is_tested_well(entry.measured):
            continue
        tree = fetch(made.projects[entry.project], made.root, log)
        if prompt := find_prompt(entry.function, tree):
            source = (tree / entry.function["path"]).read_text(encoding="utf-8")
            entries[entry.id], prompts[entry.id] = entry, prompt
            segments[entry.id] = find_target(source, entry.function["qualname"]).text
    near = find_near_copies(segments, benchmark)
    of_benchmark = sum(other in benchmark.instances for other in near.values())
    log(f"{len(segments)} functions; left out as near copies: {len(near)}, {of_benchmark} of them of the benchmark's")
    known = list(benchmark.instances.values())
    predictor = NearestPrompts(known)
    for key in sorted(entries.keys() - near.keys()):
        entry = entries[key]
        project = copy_project(made.root, out, entry.project)
        measures = folder.read_by_id("screened", entry.project)[key]["measures"]
        labels: Row = {"labels": dict(LAST_ANSWERS), "votes": {"reason": REASON}}
        instance = make_instance(entry, prompts[key], labels, measures, project.released)
        labels["labels"]["stage"] = predictor.predict(instance, known)
        write_instance(make_instance(entry, PLACEHOLDER, labels, measures, project.released), out)
    for path in [path for path in (out / "instances").rglob("*.toml") if read_id(path) in near]:
        path.unlink()
    write_splits(out, {*segments} - near.keys(), before.splits, share)


def read_id(path: Path) -> str:
    return str(tomllib.loads(path.read_text(encoding="utf-8"))["id"])


def write_splits(out: Path, ids: set[str], before: Mapping[str, Iterable[str]], share: float) -> None:
    """Hold out whole projects. A project stays where it was; the largest of the new ones that fit the share are held out."""
    by_project: dict[str, list[str]] = defaultdict(list)
    for key in sorted(ids):
        by_project[key.partition("/")[0]].append(key)
    split_of = {key.partition("/")[0]: split for split, keys in before.items() for key in keys}
    held_out = [key for project in by_project if split_of.get(project) == "validation" for key in by_project[project]]
    for project in sorted(by_project, key=lambda name: (-len(by_project[name]), name)):
        if project not in split_of and len(held_out) + len(by_project[project]) <= share * len(ids):
            held_out += by_project[project]
    trained = [key for key in sorted(ids) if key not in {*held_out}]
    (out / "splits").mkdir(exist_ok=True)
    (out / "splits/validation.txt").write_text("".join(f"{key}\n" for key in sorted(held_out)))
    (out / "splits/train.txt").write_text("".join(f"{key}\n" for key in trained))


def find_near_copies(segments: dict[str, str], benchmark: Benchmark) -> dict[str, str]:
    """By id, the function that it is a near copy of: one of the benchmark's, or one that is kept."""
    sources = Sources(benchmark, log)
    kept_of = find_duplicates(segments | {key: sources.reference(key) for key in benchmark.instances})
    in_benchmark = {kept_of.get(key, key): key for key in benchmark.instances}
    found = {key: in_benchmark.get(kept_of.get(key, key), kept_of.get(key, "")) for key in segments}
    return {key: other for key, other in found.items() if other}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("measure")
    one.add_argument("--projects", type=Path, default=Path("studies/projects.toml"))
    one.add_argument("--work", type=Path, required=True)
    one.add_argument("--workers", type=int, default=1)
    one.add_argument("--most", type=int, default=60, help="Accepted functions of a project.")
    one.add_argument("--seconds", type=float, default=240.0, help="For running the tests of a project once.")
    one.add_argument("--minutes", type=float, default=6.0, help="For a project; the batch that is running ends.")
    one.add_argument(
        "--slowest", type=float, default=1.0, help="Seconds; skip functions whose tests take longer together."
    )
    one.add_argument(
        "--names", nargs="*", default=[], help="Projects, most productive first (default: all that are left)."
    )
    one.set_defaults(do=measure)
    other = commands.add_parser("write")
    other.add_argument("--work", type=Path, required=True)
    other.add_argument("--out", type=Path, default=Path("training"))
    other.add_argument("--share", type=float, default=0.15, help="Of the instances, for validation.")
    other.set_defaults(do=write)
    given = vars(parser.parse_args())
    given.pop("do")(**given)
