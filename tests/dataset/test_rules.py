"""A benchmark is checked against the rules that it states, and every label against its votes."""

import shutil
from pathlib import Path

import pytest

from dlbench.dataset import Kind
from dlbench.dataset.file_task import BlindAttempt, Component
from dlbench.dataset.records import Labels, Votes
from dlbench.dataset.tracks import write_task
from dlbench.dataset.validation import check_records

OURS = Path(__file__).parents[2] / "benchmark"
RECORD = """id = "toy/toy.core.{name}"
path = "toy/core.py"
qualname = "{name}"
sha256 = "{sha256}"
introduced = 2026-01-02
prompt = "{prompt}"
tests = ["tests/test_core.py::test_a", "tests/test_core.py::test_b", "tests/test_core.py::test_c"]
[labels]
stage = "training"
task = "general"
data = "others"
[votes]
stage = ["training", "training", "inference"]
task = ["general", "general", "general"]
data = ["others", "others", "others"]
[measures]
mutants = 10
mutants_killed = 4
"""


def write(root: Path, name: str) -> Path:
    path = root / f"instances/toy/{name}.toml"
    path.write_text(RECORD.format(name=name, sha256="0" * 64, prompt="word " * 40))
    return path


@pytest.fixture
def ruled(toy_root):
    """Our own rules, and one instance that just keeps them."""
    shutil.copy(OURS / "rules.toml", toy_root)
    shutil.rmtree(toy_root / "instances/toy")
    shutil.rmtree(toy_root / "splits")
    (toy_root / "instances/toy").mkdir()
    write(toy_root, "scale")
    return toy_root


def find(root: Path) -> list[Kind]:
    return [problem.kind for problem in check_records(root)[1]]


def break_it(root: Path, old: str, new: str) -> None:
    path = root / "instances/toy/scale.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_our_benchmark_keeps_its_rules():
    problems = check_records(OURS)[1]
    assert (OURS / "rules.toml").is_file()
    assert problems == []


def test_instance_at_the_limits_of_every_rule_is_no_problem(ruled):
    assert find(ruled) == []


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ('prompt = "word ', 'prompt = "', Kind.PROMPT_LENGTH),
        ('prompt = "word ', f'prompt = "{"word " * 212}', Kind.PROMPT_LENGTH),
        (', "tests/test_core.py::test_c"', "", Kind.TOO_FEW_TESTS),
        ("mutants_killed = 4", "mutants_killed = 3", Kind.WEAK_TESTS),
        ("mutants = 10\nmutants_killed = 4", "", Kind.WEAK_TESTS),
        ('task = ["general", "general", "general"]', 'task = ["general", "general"]', Kind.TOO_FEW_VOTES),
        ('task = ["general", "general", "general"]', "", Kind.TOO_FEW_VOTES),
        ('stage = "training"', 'stage = "inference"', Kind.LABEL_AGAINST_VOTES),
        (
            '["training", "training", "inference"]',
            '["training", "evaluation_metrics", "inference"]',
            Kind.TIE_WITHOUT_REASON,
        ),
    ],
)
def test_broken_rule_is_reported_with_its_kind(ruled, old, new, kind):
    break_it(ruled, old, new)
    (problem,) = check_records(ruled)[1]
    assert (problem.kind, problem.where) == (kind, "instances/toy/scale.toml")
    assert problem.what
    assert problem.fix


def test_tie_with_a_reason_is_no_problem(ruled):
    settled = 'reason = "stage: its tests take a step"\nstage = ["training", "evaluation_metrics", "inference"]'
    break_it(ruled, 'stage = ["training", "training", "inference"]', settled)
    assert find(ruled) == []


def test_project_share_is_checked_from_a_hundred_instances(ruled):
    for number in range(98):
        write(ruled, f"scale{number}")
    assert find(ruled) == []
    write(ruled, "scale98")
    assert find(ruled) == [Kind.PROJECT_TOO_LARGE]


def test_without_rules_votes_are_optional_but_binding(ruled):
    (ruled / "rules.toml").unlink()
    break_it(ruled, "word " * 40, "Do it.")
    break_it(ruled, "mutants_killed = 4", "mutants_killed = 0")
    assert find(ruled) == []
    break_it(ruled, 'stage = "training"', 'stage = "inference"')
    assert find(ruled) == [Kind.LABEL_AGAINST_VOTES]


def test_unknown_rule_is_reported(ruled):
    (ruled / "rules.toml").write_text("prompt_letters = 9\n")
    assert find(ruled) == [Kind.MALFORMED_RECORD]


WORDS = "A component is described in words of our own. " * 20


def vote(*data):
    return Votes(stage=("training",) * 3, task=("general",) * 3, data=data)


COMPONENT = Component(
    id="toy/component-losses",
    project="toy",
    version="1.0",
    files=("toy/core.py",),
    asked=("toy/core.py::Loss",),
    hidden=tuple(f"tests/test_core.py::test_{number}" for number in range(5)),
    description=WORDS,
    labels=Labels(stage="training", task="general", data="others"),
    votes=vote("others", "others", "others"),
    lines=200,
    definitions=10,
    sha256="0" * 64,
    attempts=(BlindAttempt(kind="answer", solved=False, share=0.5, failure="skill"),),
    reviewer="somebody else",
)


def find_component(root: Path, **fields) -> list[Kind]:
    write_task(root, COMPONENT.model_copy(update=fields))
    return find(root)


def test_component_that_keeps_every_rule_is_no_problem(ruled):
    assert find_component(ruled) == []


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"description": "Too short."}, Kind.PROMPT_LENGTH),
        ({"description": WORDS * 10}, Kind.PROMPT_LENGTH),
        ({"description": f"DRAFT, not reviewed: {WORDS}"}, Kind.PROMPT_IS_A_DRAFT),
        ({"lines": 59}, Kind.TASK_SIZE),
        ({"lines": 1001}, Kind.TASK_SIZE),
        ({"attempts": ()}, Kind.NOT_REVIEWED),
        (
            {"attempts": (BlindAttempt(kind="agent", solved=False, share=0.0, failure="description"),)},
            Kind.NOT_REVIEWED,
        ),
        ({"reviewer": " "}, Kind.NOT_REVIEWED),
        ({"votes": vote("others", "others")}, Kind.TOO_FEW_VOTES),
        ({"votes": vote("image", "image", "others")}, Kind.LABEL_AGAINST_VOTES),
    ],
)
def test_component_against_a_rule_is_reported(ruled, fields, kind):
    assert find_component(ruled, **fields) == [kind]


def test_components_of_a_project_are_limited(ruled):
    for number in range(7):
        write_task(ruled, COMPONENT.model_copy(update={"id": f"toy/component-losses{number}"}))
    assert find(ruled) == [Kind.PROJECT_TOO_LARGE]


def test_a_failed_attempt_needs_the_class_of_its_failure():
    with pytest.raises(ValueError, match="needs the class of its failure"):
        BlindAttempt(kind="answer", solved=False, share=0.0)
