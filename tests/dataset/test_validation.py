"""One pass over a benchmark's records reports every problem: where, what, and how to fix it."""

import pytest

from dlbench.dataset import Kind, load
from dlbench.dataset.validation import check_records
from dlbench.errors import DLBenchError


def kinds(root):
    return {problem.kind for problem in check_records(root)[1]}


def edit(root, name, old, new):
    path = root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


SCALE = "instances/toy/scale.toml"


def test_sound_benchmark_has_no_problem(toy_root):
    assert check_records(toy_root)[1] == []


@pytest.mark.parametrize(
    ("name", "old", "new", "kind"),
    [
        (SCALE, 'stage = "pre_post_processing"', 'stage = "magic"', Kind.UNKNOWN_LABEL),
        (SCALE, "introduced = 2026-01-02", "introduced = soon", Kind.MALFORMED_RECORD),
        (SCALE, "introduced = 2026-01-02", "", Kind.MALFORMED_RECORD),
        (SCALE, "introduced = 2026-01-02", "introduced = 2026-01-02\nsurplus = 1", Kind.MALFORMED_RECORD),
        (SCALE, 'sha256 = "', 'sha256 = "x', Kind.MALFORMED_RECORD),
        (SCALE, 'path = "toy/core.py"', 'path = "../core.py"', Kind.MALFORMED_RECORD),
        (SCALE, 'path = "toy/core.py"', 'path = "toy/other.py"', Kind.MALFORMED_RECORD),
        (SCALE, "tests/test_core.py::test_scale_empty", "/etc/passwd::test_scale_empty", Kind.MALFORMED_RECORD),
        (SCALE, "test_scale[2]", "test_scale[1]", Kind.MALFORMED_RECORD),
        (SCALE, 'id = "toy/', 'id = "nothing/', Kind.UNKNOWN_PROJECT),
        (SCALE, "prompt = '''", "prompt = '''DRAFT, not reviewed: ", Kind.PROMPT_IS_A_DRAFT),
        ("projects/toy.toml", 'framework = "numpy"', 'framework = "abacus"', Kind.UNKNOWN_LABEL),
        ("projects/toy.toml", 'path = "../source"', "", Kind.MALFORMED_RECORD),
        ("projects/toy.toml", 'environment = "toy"', 'environment = "absent"', Kind.MISSING_LOCK),
        ("locks/toy.txt", "pytest==8.4.2", "pytest>=8", Kind.UNPINNED_LOCK),
        ("locks/toy.txt", "pytest==8.4.2", "pytest==8.4.2\nToy==1.0", Kind.PROJECT_IN_LOCK),
        ("splits/demo.txt", "toy.core.scale", "toy.core.absent", Kind.UNKNOWN_INSTANCE),
        ("VERSION", "1.0", "one", Kind.MALFORMED_RECORD),
    ],
)
def test_defect_is_reported_with_its_kind(toy_root, name, old, new, kind):
    edit(toy_root, name, old, new)
    problems = check_records(toy_root)[1]
    assert kind in {problem.kind for problem in problems}
    assert all(problem.where and problem.what and problem.fix for problem in problems)


@pytest.mark.parametrize(
    ("old", "new", "what", "fix"),
    [
        ("released = ", "# ", "released: Field required", "add that key (docs/benchmark.md)"),
        ("released = ", "surplus = 1\nreleased = ", "surplus: Extra inputs are not permitted", "remove that key"),
        ("released = ", 'released = "soon" # ', "released: Input should be a valid date", "correct it"),
    ],
)
def test_fix_of_a_key_fits_its_fault(toy_root, old, new, what, fix):
    edit(toy_root, "projects/toy.toml", old, new)
    problem = check_records(toy_root)[1][0]
    assert problem.what.startswith(what)
    assert problem.fix == fix


def test_duplicate_target_is_reported(toy_root):
    text = (toy_root / SCALE).read_text()
    (toy_root / "instances/toy/again.toml").write_text(text)
    assert Kind.DUPLICATE_ID in kinds(toy_root)


def test_file_that_is_no_record_is_reported(toy_root):
    (toy_root / "instances/toy/solution.py").write_text("def scale(): ...\n")
    assert kinds(toy_root) == {Kind.THIRD_PARTY_CODE}


def test_all_problems_are_reported_in_one_pass(toy_root):
    edit(toy_root, SCALE, 'stage = "pre_post_processing"', 'stage = "magic"')
    edit(toy_root, SCALE, "introduced = 2026-01-02", "introduced = 3")
    edit(toy_root, "instances/toy/Counter.step.toml", 'data = "structured_array"', 'data = "smell"')
    edit(toy_root, "locks/toy.txt", "pluggy==1.6.0", "pluggy")
    assert len(check_records(toy_root)[1]) >= 5  # the split now names an instance that is not there, too


def test_loading_an_unsound_benchmark_lists_its_problems(toy_root):
    edit(toy_root, SCALE, 'stage = "pre_post_processing"', 'stage = "magic"')
    with pytest.raises(DLBenchError, match=r"instances/toy/scale\.toml.*labels\.stage"):
        load(toy_root)
