"""Write accepted functions as instances of a benchmark, and build the training set from its facts.

The project's record and lock are copied too; if the benchmark already has the project, it must be the same release, or
hashes would not match. The repository must not contain docstrings, so the prompts of the training set are made on each
user's machine. The benchmark has none of its projects and no near copy of its functions, so that it still measures a
model that was trained on them.
"""

import ast
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from dlbench.construction import Row, WorkFolder
from dlbench.construction.labelling.catalogue import Entry, read_catalogue
from dlbench.construction.labelling.votes import Review, Vote, read_reviews, read_votes
from dlbench.construction.project_spec import write_record
from dlbench.dataset import Benchmark, Instance, Kind, Project, load
from dlbench.dataset.leakage import find_leaks, is_draft
from dlbench.dataset.records import Labels, Measures, Votes, quote, quote_text
from dlbench.dataset.target import Target, find_target
from dlbench.dataset.validation import RULES_FILE, read_rules
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources
from dlbench.jsonl import write_whole
from dlbench.parsing import parse
from dlbench.workspace.home import Log, building, locked
from dlbench.workspace.source import pin

DateFunctions = Callable[[Project, list[Row]], dict[str, date]]
"""Finds when each function of a project first appeared, by id."""


@dataclass
class WriteResult:
    """`left_out`: by id, why a function did not become an instance."""

    paths: dict[str, Path] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def write_instances(
    work: WorkFolder,
    root: Path,
    find_tree: Callable[[str], Path],
    date_functions: DateFunctions,
    *,
    accept_all: str = "",
) -> WriteResult:
    """Write into the benchmark folder `root`, replacing existing instances.

    `accept_all`: the annotator who accepts alone whatever nobody has rejected. A function without a prompt gets its
    docstring, and one without decided labels the annotator's vote or the guideline's last answers, marked as such."""
    reviews = read_reviews(work)
    labels = work.read_by_id("labels") if work.has("labels") else {}
    if accept_all and not root.exists():
        root.mkdir(parents=True)
        write_whole(root / RULES_FILE, "docstring_prompts = true\n")
    may_quote = read_rules(root).docstring_prompts
    written = WriteResult()
    ready: dict[str, list[tuple[Entry, str]]] = {}
    votes = {vote.id: vote for vote in read_votes(work) if vote.annotator == accept_all}
    for entry in read_catalogue(work).values():
        review = reviews.get(entry.id, Review())
        if accept_all and not review.rejected:
            prompt = review.prompt or _read_target(entry, find_tree)[1].docstring or ""
            review = Review(prompt=prompt, accepted=(accept_all,))
            labels.setdefault(entry.id, _label_alone(votes.get(entry.id), accept_all))
            if not prompt:
                written.left_out[entry.id] = "it has no docstring: write its prompt in `dlbench construct review`"
                continue
        if why := _find_objection(entry, review, labels, find_tree, may_quote):
            written.left_out[entry.id] = why
        else:
            ready.setdefault(entry.project, []).append((entry, review.prompt or ""))
    for project, entries in ready.items():
        record = copy_project(work.root / "benchmark", root, project)
        dates = date_functions(record, [entry.function for entry, _ in entries])
        screened = work.read_by_id("screened", project)
        for entry, prompt in entries:
            measures = screened[entry.id]["measures"]
            instance = make_instance(entry, prompt, labels[entry.id], measures, dates[entry.id])
            written.paths[entry.id] = write_instance(instance, root)
    return written


LAST_ANSWERS = {"stage": "pre_post_processing", "task": "general", "data": "others"}
"""The labels of a function for which every question of the guideline is answered no."""


def _label_alone(vote: Vote | None, annotator: str) -> Row:
    voted = dict(vote.labels) if vote else {}
    reason = f"one annotator: {annotator}"
    if missing := [axis for axis in LAST_ANSWERS if axis not in voted]:
        reason += f"; not voted on: {', '.join(missing)}"
    votes: Row = {axis: [label] for axis, label in voted.items()}
    return {"labels": LAST_ANSWERS | voted, "votes": votes | {"reason": reason}}


def _read_target(entry: Entry, find_tree: Callable[[str], Path]) -> tuple[ast.Module, Target]:
    source = (find_tree(entry.project) / entry.function["path"]).read_text(encoding="utf-8")
    module = parse(source)
    return module, find_target(source, entry.function["qualname"], module)


def _find_objection(
    entry: Entry, review: Review, labels: dict[str, Row], find_tree: Callable[[str], Path], may_quote: bool
) -> str:
    if review.verdict != "accepted":
        return "; ".join(["rejected", *review.rejected.values()]) if review.rejected else "not accepted yet"
    if not review.prompt or is_draft(review.prompt):
        return "no prompt written yet"
    if entry.id not in labels:
        return "labels not decided"
    module, target = _read_target(entry, find_tree)
    if target.sha256 != entry.function["sha256"]:
        return "the source has changed since it was measured"
    test_files = {find_tree(entry.project) / test.split("::", 1)[0] for test in entry.tests}
    leaks = find_leaks(review.prompt, module, target, test_files)
    found = (leak.what for leak in leaks if not (may_quote and leak.kind is Kind.PROMPT_LEAKS_DOCSTRING))
    return next(found, "")


def copy_project(made: Path, root: Path, name: str) -> Project:
    project = pin(load(made).projects[name], made)
    existing = load(root).projects.get(name) if (root / "projects").is_dir() else None
    if existing is not None:
        if _name_source(existing, root) != _name_source(project, made):
            what = f"the benchmark has {name} {existing.version} from another source than these functions"
            fix = "write into a new folder, or remove the project and its instances from this one"
            raise DLBenchError(what, where=str(root), fix=fix)
        return existing
    if project.path:  # relative to the benchmark
        project = project.model_copy(update={"path": os.path.relpath(made.resolve() / project.path, root.resolve())})
    write_record(project, root)
    (root / "locks").mkdir(exist_ok=True)
    for lock in sorted((made / "locks").glob(f"{project.environment}.*")):
        shutil.copy(lock, root / "locks")
    return project


def _name_source(project: Project, root: Path) -> tuple[object, ...]:
    return project.sha256, project.git, project.path and (root / project.path).resolve()


def make_instance(entry: Entry, prompt: str, labels: Row, measures: Row, introduced: date) -> Instance:
    return Instance(
        **{key: entry.function[key] for key in ("id", "path", "qualname", "sha256")},
        introduced=introduced,
        prompt=f"{prompt.strip()}\n",
        tests=tuple(entry.tests),
        labels=Labels(**labels["labels"]),
        votes=Votes(**labels["votes"]),
        measures=Measures(
            **{key: measures[key] for key in ("loc", "cyclomatic", "cognitive")},
            mutants=entry.measured["mutants"],
            mutants_killed=entry.measured["killed"],
            seconds=round(entry.measured["seconds"], 3),
        ),
    )


def write_instance(instance: Instance, root: Path) -> Path:
    """Write one file named after the function, or after module and function if that name is taken."""
    folder = root / "instances" / instance.project
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{instance.qualname}.toml"
    if path.exists() and f'id = "{instance.id}"' not in path.read_text(encoding="utf-8").splitlines():
        path = folder / f"{instance.module}.{instance.qualname}.toml"
    write_whole(path, render_instance(instance))
    return path


def render_instance(instance: Instance) -> str:
    """Render readable TOML: the prompt as a text block, one test per line."""
    votes, measures = instance.votes, instance.measures.model_dump(exclude_none=True)
    lines = [f"{key} = {quote(getattr(instance, key))}" for key in ("id", "path", "qualname", "sha256")]
    lines += [f"introduced = {instance.introduced.isoformat()}", f"prompt = {quote_text(instance.prompt)}"]
    lines += ["tests = [", *(f"  {quote(test)}," for test in instance.tests), "]", "", "[labels]"]
    lines += [f"{axis} = {quote(value)}" for axis, value in instance.labels.model_dump(mode="json").items()]
    if votes:
        given = votes.model_dump(mode="json").items()
        lines += ["", "[votes]", *(f"{axis} = {quote(value)}" for axis, value in given if value)]
    if measures:
        lines += ["", "[measures]", *(f"{key} = {value}" for key, value in measures.items())]
    return "\n".join(lines) + "\n"


PLACEHOLDER = "`dlbench train-set build` writes the prompt from the documentation in the fetched source.\n"
"""The prompt of every instance as the repository stores it."""
FEWEST_WORDS = 12
"""A shorter docstring is completed by that of the class."""


def write_prompt(target: Target) -> str:
    """What the documentation says of the function; empty if it says too little to write the function."""
    own = (target.docstring or "").strip()
    parts = [f"Its documentation:\n\n{own}\n"] if own else []
    if len(own.split()) < FEWEST_WORDS and target.classes:
        node = target.classes[-1]
        if of_class := (ast.get_docstring(node) or "").strip():
            parts.append(f"The documentation of the class `{node.name}`:\n\n{of_class}\n")
    prompt = "\n".join(parts)
    return prompt if len(prompt.split()) >= FEWEST_WORDS else ""


def build_training_set(facts: Benchmark, out: Path, log: Log) -> None:
    """Write an ordinary benchmark folder; it gets its name only when it is complete."""
    if out.exists():
        fix = "use it with --set or --benchmark; to build it again, remove it first"
        raise DLBenchError("the folder exists already", where=str(out), fix=fix)
    sources = Sources(facts, log)
    instances = [_complete(instance, sources) for instance in facts.instances.values()]
    with locked(f"training-{out.name}", log), building(out) as folder:
        shutil.copytree(facts.root, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("instances"))
        write_whole(folder / RULES_FILE, "docstring_prompts = true\n")
        for instance in instances:
            write_instance(instance, folder)


def _complete(instance: Instance, sources: Sources) -> Instance:
    target = find_target(sources.module(instance), instance.qualname)
    prompt = write_prompt(target)
    if target.sha256 != instance.sha256 or not prompt:
        what = "the function has changed or has no documentation"
        raise DLBenchError(what, where=instance.id, fix="check the facts with `dlbench check --benchmark FACTS`")
    return instance.model_copy(update={"prompt": prompt})
