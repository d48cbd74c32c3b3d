"""Only accepted and labelled functions become instances, and the written benchmark is valid."""

import tomllib
from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.construction import WorkFolder
from dlbench.construction.admit import propose_instance
from dlbench.construction.labelling.votes import cast_vote, reviews_of, votes_of, write_review
from dlbench.construction.write_instances import WriteResult, render_instance, write_instance, write_instances
from dlbench.dataset import Instance, Kind, load
from dlbench.dataset.records import Labels, Measures, Votes
from dlbench.dataset.target import find_target
from dlbench.dataset.validation import check_records
from dlbench.execution import Engine
from dlbench.validation.sources import check_sources
from dlbench.workspace.home import quiet
from tests.construction.planted import write_planted

PROMPT = "Turn raw class scores into probabilities that sum to one, dividing by a positive temperature first."
NAMES = ["softmax", "flaky_loss", "describe_layer", "relu_forward", "train_epoch"]


@pytest.fixture
def work(tmp_path: Path) -> WorkFolder:
    """Five functions were found admissible, and two have labels."""
    work = WorkFolder(write_planted(tmp_path / "planted"))
    tree = work.root / "benchmark" / load(work.root / "benchmark").projects["planted"].path
    source = (tree / "planted/model.py").read_text()
    functions, measured, screened = [], [], []
    for name in NAMES:
        first = source.index(f"def {name}(")
        text = source[first:].split("\n\n\n")[0].rstrip("\n")
        row = {"id": f"planted/planted.model.{name}", "path": "planted/model.py", "qualname": name}
        functions.append(row | {"sha256": sha256(text.encode()).hexdigest(), "signature": text.splitlines()[0]})
        measured.append(
            {"id": row["id"], "admissible": True, "tests": ["tests/test_model.py::test_softmax_orders"]}
            | {"mutants": 12, "killed": 11, "seconds": 0.01234}
        )
        screened.append(row | {"kept": True, "measures": {"loc": 7, "cyclomatic": 2, "cognitive": 1, "calls": 3}})
    work.write("functions", functions, "planted")
    work.write("measured", measured, "planted")
    work.write("screened", screened, "planted")
    labels = {"stage": "model_construction", "task": "classification", "data": "structured_array"}
    votes = {axis: [value] * 3 for axis, value in labels.items()} | {"reason": ""}
    ids = [f"planted/planted.model.{name}" for name in NAMES if name != "relu_forward"]
    work.write("labels", [{"id": key, "labels": labels, "votes": votes} for key in ids])
    return work


def review(work: WorkFolder, name: str, *actions: dict[str, str]) -> None:
    for action in actions:
        write_review(reviews_of(work), "ada", {"id": f"planted/planted.model.{name}"} | action)


def write(work: WorkFolder, into: Path, accept_all: str = "") -> WriteResult:
    made = load(work.root / "benchmark")
    tree = made.root / made.projects["planted"].path
    return write_instances(
        work,
        into,
        lambda name: tree,
        lambda project, rows: {row["id"]: date(2025, 7, 1) for row in rows},
        accept_all=accept_all,
    )


def test_only_accepted_labelled_and_original_prompts_are_written(work: WorkFolder, tmp_path: Path):
    accept = {"action": "accept"}
    review(work, "softmax", {"action": "prompt", "prompt": PROMPT}, accept)
    review(
        work, "flaky_loss", {"action": "prompt", "prompt": "Add step * step with difference += step * step."}, accept
    )
    review(work, "relu_forward", {"action": "prompt", "prompt": PROMPT}, accept)
    review(work, "train_epoch", {"action": "prompt", "prompt": PROMPT}, {"action": "reject", "reason": "too dull"})
    written = write(work, tmp_path / "ours")
    assert list(written.paths) == ["planted/planted.model.softmax"]
    assert {key.rpartition(".")[2]: why for key, why in written.left_out.items()} == {
        "flaky_loss": "the prompt holds a line of the reference: difference += step * step",
        "describe_layer": "not accepted yet",
        "relu_forward": "labels not decided",
        "train_epoch": "rejected; too dull",
    }


def test_written_benchmark_is_valid(work: WorkFolder, tmp_path: Path):
    review(work, "softmax", {"action": "prompt", "prompt": PROMPT}, {"action": "accept"})
    write(work, tmp_path / "ours")
    benchmark, problems = check_records(tmp_path / "ours")
    assert problems == []
    instance = benchmark.instances["planted/planted.model.softmax"]
    assert instance.prompt == f"{PROMPT}\n"
    assert instance.introduced == date(2025, 7, 1)
    assert instance.votes == Votes(**{axis: (value,) * 3 for axis, value in instance.labels.model_dump().items()})
    assert instance.measures == Measures(loc=7, cyclomatic=2, cognitive=1, mutants=12, mutants_killed=11, seconds=0.012)


def test_writing_nothing_is_a_failure(work: WorkFolder, tmp_path: Path):
    ended = CliRunner().invoke(app, ["construct", "write", "--work", str(work.root), "--into", str(tmp_path / "ours")])
    assert ended.exit_code == 1
    assert "softmax: left out: not accepted yet" in ended.output
    assert "no instance was written" in ended.output


def test_single_owner_accepts_everything_at_once(work: WorkFolder, tmp_path: Path):
    """Labels of one vote or of none are marked, and a docstring is a prompt where nobody has written another."""
    work.path("labels").unlink()
    review(work, "describe_layer", {"action": "reject", "reason": "too dull"})
    review(work, "train_epoch", {"action": "prompt", "prompt": PROMPT})
    vote = {"stage": "model_construction", "task": "classification"}
    cast_vote(votes_of(work), "ada", {"id": "planted/planted.model.softmax"} | vote)
    cast_vote(votes_of(work), "bob", {"id": "planted/planted.model.softmax", "stage": "training", "data": "text"})
    into = ["--work", str(work.root), "--into", str(tmp_path / "ours")]
    alone = CliRunner().invoke(app, ["construct", "write", *into, "--accept-all"])
    assert (alone.exit_code, "--annotator belong together" in alone.output) == (1, True)
    ended = CliRunner().invoke(app, ["construct", "write", *into, "--accept-all", "--annotator", "ada"])
    assert ended.exit_code == 0, ended.output
    assert "flaky_loss: left out: it has no docstring: write its prompt in `dlbench construct review`" in ended.output
    assert "describe_layer: left out: rejected; too dull" in ended.output
    benchmark, problems = check_records(tmp_path / "ours")
    assert problems == []
    written = {key.rpartition(".")[2]: instance for key, instance in benchmark.instances.items()}
    assert list(written) == ["softmax", "train_epoch"]
    assert written["train_epoch"].prompt == f"{PROMPT}\n"
    assert written["train_epoch"].votes == Votes(reason="one annotator: ada; not voted on: stage, task, data")
    assert written["softmax"].prompt == "Probabilities of classes.\n"
    assert written["softmax"].labels == Labels(**vote, data="others")
    votes = {axis: (label,) for axis, label in vote.items()}
    assert written["softmax"].votes == Votes(**votes, reason="one annotator: ada; not voted on: data")
    assert load(tmp_path / "ours").projects["planted"].path == "../planted/source"


def test_docstrings_are_prompts_only_where_the_rules_allow_it(work: WorkFolder, tmp_path: Path, engine: Engine):
    docstring = (
        "Probabilities of the classes that the given scores name, in the same order as the scores themselves are."
    )
    tree = tmp_path / "planted/source/planted/model.py"
    source = tree.read_text().replace("Probabilities of classes.", docstring)
    tree.write_text(source)
    rows = work.read("functions", "planted")
    rows[0]["sha256"] = find_target(source, "softmax").sha256
    work.write("functions", rows, "planted")
    (tmp_path / "public").mkdir()
    softmax = "planted/planted.model.softmax"
    assert "words in a row of its docstring" in write(work, tmp_path / "public", accept_all="ada").left_out[softmax]
    assert softmax in write(work, tmp_path / "ours", accept_all="ada").paths
    ours = load(tmp_path / "ours")
    assert check_sources(ours, [ours.instances[softmax]], engine, quiet) == []
    (tmp_path / "ours/rules.toml").unlink()
    problems = check_sources(ours, [ours.instances[softmax]], engine, quiet)
    assert {problem.kind for problem in problems} == {Kind.PROMPT_LEAKS_DOCSTRING}


def test_functions_with_the_same_name_get_separate_files(tmp_path: Path):
    rows = [{"id": f"p/p.{m}.run", "path": f"p/{m}.py", "qualname": "run", "sha256": "0" * 64} for m in "ab"]
    instances = [propose_instance(row, ["t.py::test"]) for row in rows]
    paths = [write_instance(instance, tmp_path) for instance in [*instances, *instances]]
    assert [path.name for path in paths] == ["run.toml", "p.b.run.toml"] * 2
    assert [Instance(**tomllib.loads(path.read_text())) for path in paths[:2]] == instances


@given(prompt=st.text(min_size=1), test=st.text(min_size=1), reason=st.text())
def test_any_record_round_trips(prompt: str, test: str, reason: str):
    row = {"id": "p/p.m.run", "path": "p/m.py", "qualname": "run", "sha256": "0" * 64}
    plain = propose_instance(row, ["t.py::test"])
    tests = (f"t.py::{test}",)
    instance = plain.model_copy(update={"prompt": prompt, "tests": tests, "votes": Votes(reason=reason)})
    found = Instance(**tomllib.loads(render_instance(instance)))
    assert found.prompt == prompt
    assert found.tests == tests
    assert found.votes is None or found.votes.reason == reason
