"""The training set: the repository has facts only, and each machine makes the prompts from the fetched sources."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dlbench import dataset
from dlbench.cli import app
from dlbench.construction.write_instances import PLACEHOLDER, write_prompt
from dlbench.dataset.loading import find_own
from dlbench.dataset.target import find_target
from dlbench.dataset.validation import check_records

DOCUMENTED = "toy/toy.core.scale"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def facts(toy_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Facts of one documented function, under the version of our own, in a workspace without a training set."""
    monkeypatch.setenv("DLBENCH_HOME", str(toy_root.parent / "home"))
    (toy_root / "instances/toy/Counter.step.toml").unlink()
    record = toy_root / "instances/toy/scale.toml"
    prompt = dataset.load(toy_root).instances[DOCUMENTED].prompt
    record.write_text(record.read_text().replace(prompt, PLACEHOLDER))
    (toy_root / "splits/demo.txt").unlink()
    (toy_root / "splits/train.txt").write_text(f"{DOCUMENTED}\n")
    (toy_root / "VERSION").write_text((find_own("training") / "VERSION").read_text())
    return toy_root


def test_built_set_is_a_benchmark_with_prompts_from_docstrings(facts: Path) -> None:
    out = facts.parent / "built"
    done = run("train-set", "build", "--facts", facts, "--out", out)
    assert done.exit_code == 0, done.output
    assert "1 instances of 1 projects" in done.output
    (instance,) = dataset.load(out).instances.values()
    assert "Multiplies every one of the given values by a factor" in instance.prompt
    assert instance.model_copy(update={"prompt": PLACEHOLDER}) == dataset.load(facts).instances[DOCUMENTED]
    assert run("check", "--benchmark", out).exit_code == 0
    assert run("check", "--benchmark", out, "--set", "train").exit_code == 0


def test_docstring_in_the_facts_is_reported(facts: Path) -> None:
    record = facts / "instances/toy/scale.toml"
    words = "Multiplies every one of the given values by a factor and returns them all as a new list again."
    record.write_text(record.read_text().replace(PLACEHOLDER, f"{words}\n"))
    done = run("check", "--benchmark", facts)
    assert done.exit_code == 1
    assert "prompt_leaks_docstring" in done.output


def test_built_set_is_chosen_by_name(facts: Path) -> None:
    assert run("train-set", "build", "--facts", facts).exit_code == 0
    assert run("list", "--set", "train").output == f"{DOCUMENTED}\n"
    assert run("list", "--benchmark", "train-set").output == f"{DOCUMENTED}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "train"], "`dlbench train-set build` makes the training set"),
        (["--benchmark", "train-set"], "`dlbench train-set build` makes the training set"),
        (["--set", "trian"], "did you mean train?"),
        (["--set", "train", "--split", "lite"], "pass --set or --split, not both"),
    ],
)
def test_wrong_choice_of_a_set_says_what_to_do(facts: Path, arguments: list[str], message: str) -> None:
    done = run("list", *arguments)
    assert done.exit_code == 1
    assert message in done.output


def test_existing_folder_is_not_replaced(facts: Path) -> None:
    (facts.parent / "mine").mkdir()
    done = run("train-set", "build", "--facts", facts, "--out", facts.parent / "mine")
    assert done.exit_code == 1
    assert "exists already" in done.output


def test_function_without_documentation_is_an_error(toy_root: Path) -> None:
    done = run("train-set", "build", "--facts", toy_root, "--out", toy_root.parent / "built")
    assert done.exit_code == 1
    assert "toy/toy.core.Counter.step: the function has changed or has no documentation" in done.output
    assert not (toy_root.parent / "built").exists()


@pytest.mark.slow
def test_reference_passes_and_stub_fails_on_the_built_set(facts: Path) -> None:
    out = facts.parent / "built"
    run("train-set", "build", "--facts", facts, "--out", out)
    for model in ("reference", "stub"):
        runs = facts.parent / model
        done = run("run", "--set", "train", "--benchmark", out, "--model", model, "--out", runs)
        assert done.exit_code == 0, done.output
        assert ('"status": "pass"' in (runs / "verdicts.jsonl").read_text()) is (model == "reference")
    samples = facts.parent / "reference/samples.jsonl"
    assert run("evaluate", samples, "--benchmark", out, "--out", facts.parent / "again").exit_code == 0
    assert '"status": "pass"' in (facts.parent / "again/verdicts.jsonl").read_text()


CLASS = '''
class Scaler:
    """Scales arrays of floats by the mean and the deviation that `fit` has found before."""

    def invert(self, values):
        """Undoes the scaling."""
        return values

    def clip(self, values, low, high):
        """Limits each of the values to the range between `low` and `high`, both of which are included."""
        return values
'''


def test_short_docstring_is_completed_by_that_of_the_class() -> None:
    short, long = (write_prompt(find_target(CLASS, f"Scaler.{name}")) for name in ("invert", "clip"))
    assert "Undoes the scaling." in short
    assert "that `fit` has found before" in short
    assert "both of which are included" in long
    assert "has found before" not in long


def test_our_facts_have_no_prompt_and_share_no_project_with_the_benchmark() -> None:
    facts, problems = check_records(find_own("training"))
    assert problems == []
    assert {one.prompt for one in facts.instances.values()} == {PLACEHOLDER}
    names = {project.lower().replace("_", "-") for project in dataset.load().projects}
    assert not names & {project.lower().replace("_", "-") for project in facts.projects}


def test_our_project_is_in_train_or_in_validation() -> None:
    splits = dataset.load(find_own("training")).splits
    train, validation = ({key.partition("/")[0] for key in splits[name]} for name in ("train", "validation"))
    assert not train & validation
    assert {*splits["train"], *splits["validation"]} == {*dataset.load(find_own("training")).instances}
