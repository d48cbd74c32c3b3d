"""Make the facts of the training set (`training/`) from projects that the benchmark does not have.

`measure --work WORK` runs the construction steps on every project, and the admission checks on documented functions; run it
again to resume. `write --work WORK` leaves out near copies and weak tests, predicts stages, and splits by project.
"""

import argparse
import shutil
from pathlib import Path

from dlbench import dataset
from dlbench.cli.app import WorkerOptions
from dlbench.cli.construct_common import make_construction_engine
from dlbench.cli.output import log
from dlbench.construction.labelling.catalogue import Entry, read_catalogue
from dlbench.construction.pipeline import Pipeline
from dlbench.construction.project_spec import read_specs
from dlbench.construction.screening import find_duplicates
from dlbench.construction.training_set import PLACEHOLDER, write_prompt
from dlbench.construction.work_folder import Row, WorkFolder, for_each_project
from dlbench.construction.write_instances import LAST_ANSWERS, copy_project, make_instance, write_instance
from dlbench.dataset import Benchmark
from dlbench.dataset.leakage import find_leaks
from dlbench.dataset.loading import Kind
from dlbench.dataset.target import TargetError, find_target
from dlbench.dataset.validation import RULES_FILE
from dlbench.generation.sources import Sources
from dlbench.generation.techniques.stage_predictor import NearestPrompts
from dlbench.parsing import parse
from dlbench.workspace import fetch

MUTANTS = 6
"""Of each reference; half as many as in the benchmark, which saves a third of the time."""
MUTATION_SCORE = 0.4
"""The least, as in the benchmark."""
REASON = "stage predicted from the documentation; task and data not labelled"


def measure(projects: Path, work: Path, workers: int, most: int, seconds: float) -> None:
    benchmark = {name.lower().replace("_", "-") for name in dataset.load().projects}
    specs = [one for one in read_specs(projects) if one.name.lower().replace("_", "-") not in benchmark]
    folder, engine = WorkFolder(work), make_construction_engine(WorkerOptions(workers))
    pipelines = (Pipeline(engine, folder, spec, log, workers=workers) for spec in specs)
    for_each_project(folder, pipelines, lambda one: measure_project(one, most, seconds), log)


def measure_project(pipeline: Pipeline, most: int, seconds: float) -> None:
    for step, do in {
        "collected": pipeline.collect,
        "trace": lambda: pipeline.trace(seconds),
        "functions": pipeline.extract,
        "screened": pipeline.screen,
    }.items():
        if not pipeline.work.has(step, pipeline.name):
            do()
    rows = [row for row in pipeline.work.read("screened", pipeline.name) if row["kept"]]
    documented = [row["id"] for row in rows if find_prompt(row, pipeline.prepared.tree)]
    log(f"{pipeline.name}: {len(documented)} of {len(rows)} screened functions are documented")
    if documented:
        pipeline.admit(most, documented, mutants=MUTANTS)


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
    """Replace the facts: what is admissible, has a prompt, tests that find mistakes, and no near copy."""
    folder, made, benchmark = WorkFolder(work), dataset.load(work / "benchmark"), dataset.load()
    prompts: dict[str, str] = {}
    segments: dict[str, str] = {}
    entries: dict[str, Entry] = {}
    for entry in read_catalogue(folder).values():
        tree = fetch(made.projects[entry.project], made.root, log)
        prompt, measured = find_prompt(entry.function, tree), entry.measured
        if prompt and measured["killed"] >= MUTATION_SCORE * max(1, measured["mutants"]):
            source = (tree / entry.function["path"]).read_text(encoding="utf-8")
            entries[entry.id], prompts[entry.id] = entry, prompt
            segments[entry.id] = find_target(source, entry.function["qualname"]).text
    near = find_near_copies(segments, benchmark)
    log(
        f"{len(segments)} functions; left out as near copies: {len(near)}, {sum(other in benchmark.instances for other in near.values())} of them of the benchmark's"
    )
    predictor, known = NearestPrompts(list(benchmark.instances.values())), list(benchmark.instances.values())
    for part in ("projects", "instances", "locks", "splits"):
        shutil.rmtree(out / part, ignore_errors=True)
    out.mkdir(exist_ok=True)
    (out / RULES_FILE).write_text(f"tests = 3\nmutation_score = {MUTATION_SCORE}\n")
    by_project: dict[str, list[str]] = {}
    for key in sorted(segments.keys() - near.keys()):
        entry = entries[key]
        project = copy_project(made.root, out, entry.project)
        measures = folder.read_by_id("screened", entry.project)[key]["measures"]
        labels: Row = {"labels": dict(LAST_ANSWERS), "votes": {"reason": REASON}}
        instance = make_instance(entry, prompts[key], labels, measures, project.released)
        labels["labels"]["stage"] = predictor.predict(instance, known)
        write_instance(make_instance(entry, PLACEHOLDER, labels, measures, project.released), out)
        by_project.setdefault(entry.project, []).append(key)
    held_out: list[str] = []
    for project in sorted(by_project, key=lambda name: (-len(by_project[name]), name)):
        if len(held_out) + len(by_project[project]) <= share * (len(segments) - len(near)):
            held_out += by_project.pop(project)
    (out / "splits").mkdir(exist_ok=True)
    (out / "splits/validation.txt").write_text("".join(f"{key}\n" for key in sorted(held_out)))
    (out / "splits/train.txt").write_text("".join(f"{key}\n" for keys in by_project.values() for key in keys))


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
    one.add_argument("--most", type=int, default=45)
    one.add_argument("--seconds", type=float, default=240.0)
    one.set_defaults(do=measure)
    other = commands.add_parser("write")
    other.add_argument("--work", type=Path, required=True)
    other.add_argument("--out", type=Path, default=Path("training"))
    other.add_argument("--share", type=float, default=0.15, help="Of the instances, for validation.")
    other.set_defaults(do=write)
    given = vars(parser.parse_args())
    given.pop("do")(**given)
