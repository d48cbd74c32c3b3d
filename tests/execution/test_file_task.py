"""Tasks of many files: honest answers pass, cheats do not, and a test that crashes costs no other test."""

from pathlib import Path

import pytest

from dlbench.dataset import load
from dlbench.dataset.tracks import read_tasks
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.file_task import (
    OpenTask,
    judge_files,
    profile_release,
    run_release,
    validate_task,
)
from dlbench.execution.isolated_run import RunOptions, split_tests
from dlbench.execution.task_folder import write_folder
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.workspace import prepare
from tests.execution.file_task_toy import (
    BREAKS,
    CHEATS,
    COMPONENT,
    CORE,
    HIDDEN,
    HONEST,
    RIGHT,
    TASK,
    UNCHANGED,
    Attempt,
    write_toy,
)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, OpenTask]:
    benchmark = load(write_toy(tmp_path_factory.mktemp("toy")))
    prepared = prepare(benchmark.projects["toylib"], benchmark.root)
    return {name: OpenTask(record, prepared) for name, record in read_tasks(benchmark.root).items()}


@pytest.fixture(scope="module")
def task(tasks: dict[str, OpenTask]) -> OpenTask:
    return tasks[TASK]


@pytest.fixture(scope="module")
def component(tasks: dict[str, OpenTask]) -> OpenTask:
    return tasks[COMPONENT]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(choose_sandbox(), Limits(load_seconds=60, test_seconds=10, memory_mb=1024))


def judge(engine: Engine, task: OpenTask, attempt: Attempt) -> Verdict:
    files = {path: text.encode() if isinstance(text, str) else text for path, text in attempt.files.items()}
    return judge_files(engine, task, files)


@pytest.mark.slow
@pytest.mark.parametrize("attempt", CHEATS, ids=lambda attempt: attempt.name)
def test_no_cheat_passes(engine: Engine, task: OpenTask, attempt: Attempt) -> None:
    verdict = judge(engine, task, attempt)
    assert verdict.status in attempt.statuses, verdict
    assert set(attempt.ignored) <= set(verdict.ignored)
    assert attempt.share is None or verdict.share == attempt.share


@pytest.mark.slow
@pytest.mark.parametrize("attempt", CHEATS[::3], ids=lambda attempt: attempt.name)
def test_no_cheat_passes_as_a_component(engine: Engine, component: OpenTask, attempt: Attempt) -> None:
    verdict = judge(engine, component, attempt)
    assert verdict.status in attempt.statuses, verdict
    assert attempt.share is None or verdict.share == attempt.share


def test_a_component_is_solved_by_its_reference_and_not_by_what_is_given(engine: Engine, component: OpenTask) -> None:
    assert list(validate_task(engine, component, repeat=2, shuffle=True)) == []
    verdict = judge(engine, component, Attempt("the release", RIGHT))
    assert (verdict.status, verdict.share) == (Status.PASS, 1.0), verdict
    verdict = judge(engine, component, Attempt("nothing", {}))
    assert (verdict.status, verdict.share, "broken" in verdict.extra) == (Status.FAIL, 0.0, False), verdict


def test_the_command_for_the_tests_names_their_folder_if_the_record_lists_none(
    component: OpenTask, tmp_path: Path
) -> None:
    alone = OpenTask(component.record.model_copy(update={"unchanged": ()}), component.prepared)
    for task, argument in ((component, "@VISIBLE_TESTS.txt"), (alone, "tests")):
        write_folder(task, tmp_path / argument)
        assert f"-o addopts= {argument}`" in (tmp_path / argument / "INSTRUCTIONS.md").read_text()
        assert (tmp_path / argument / "VISIBLE_TESTS.txt").is_file() == (task is component)


def test_an_answer_that_breaks_an_unchanged_test_fails(engine: Engine, component: OpenTask) -> None:
    verdict = judge(engine, component, Attempt("breaks", BREAKS))
    assert (verdict.status, verdict.share) == (Status.FAIL, 1.0), verdict
    assert verdict.extra["broken"] == {UNCHANGED[0]: "failed"}
    assert "1 tests that passed before do not pass" in verdict.message


def test_validation_names_unchanged_tests_that_fail_before(engine: Engine, component: OpenTask) -> None:
    *hidden, moved = component.record.hidden
    record = component.record.model_copy(update={"hidden": tuple(hidden), "unchanged": (moved,)})
    found = list(validate_task(engine, OpenTask(record, component.prepared)))
    assert [f"{moved} is said to pass before" in one for one in found] == [True], found


@pytest.mark.slow
@pytest.mark.parametrize("attempt", HONEST, ids=lambda attempt: attempt.name)
def test_honest_answers_pass(engine: Engine, task: OpenTask, attempt: Attempt) -> None:
    verdict = judge(engine, task, attempt)
    assert (verdict.status, verdict.share) == (Status.PASS, 1.0), (verdict.message, verdict.extra)
    assert all(outcome is Outcome.PASSED for outcome in verdict.visible.values())


def test_a_partial_answer_gets_its_share(engine: Engine, task: OpenTask) -> None:
    verdict = judge(engine, task, Attempt("core only", {"toylib/core.py": CORE}))
    assert verdict.status is Status.FAIL
    assert verdict.share == (len(HIDDEN) - 2) / len(HIDDEN)
    assert verdict.from_record(verdict.as_record()).share == verdict.share


@pytest.mark.slow
def test_tests_around_a_crash_or_a_hang_keep_their_outcomes(engine: Engine, task: OpenTask) -> None:
    loops = CORE.replace('raise ValueError("factor must not be zero")', "while True: pass")
    crashes = loops.replace("self.count = 0\n", "raise SystemExit(3) if not hasattr(self, 'x') else 0\n")
    verdict = judge(engine, task, Attempt("hangs", {**RIGHT, "toylib/core.py": crashes}))
    failed = {test.partition("::")[2] for test, outcome in verdict.tests.items() if outcome is not Outcome.PASSED}
    assert failed == {"test_scale_zero", "TestCounter::test_reset"}, verdict.message


def test_the_release_of_the_toy_needs_no_permission(engine: Engine, task: OpenTask) -> None:
    """A guard that takes its own doing for the release's would allow the same to every answer."""
    assert profile_release(engine, task, 1).allowed == ()


def test_the_reference_passes_and_the_skeleton_fails(engine: Engine, task: OpenTask) -> None:
    assert list(validate_task(engine, task, repeat=2, shuffle=True)) == []


def test_validation_names_a_test_that_the_skeleton_passes(engine: Engine, task: OpenTask) -> None:
    weak = "tests/test_tables.py::test_not_equal"
    record = task.record.model_copy(
        update={"hidden": (*task.record.hidden, weak), "kept": ("toylib/tables.py::Table.__init__",)}
    )
    found = list(validate_task(engine, OpenTask(record, task.prepared)))
    assert any("is not what was recorded" in one for one in found)


def test_a_test_of_the_record_that_the_release_lacks_is_a_problem(engine: Engine, task: OpenTask) -> None:
    record = task.record.model_copy(update={"hidden": (*task.record.hidden, "tests/test_core.py::test_gone")})
    found = list(validate_task(engine, OpenTask(record, task.prepared)))
    assert any("test_gone" in one for one in found)


def test_long_tests_are_split_evenly_and_files_stay_together() -> None:
    tests = [f"tests/test_{file}.py::test_{number}" for file in "abcd" for number in range(10)]
    batches = split_tests(tests, dict.fromkeys(tests, 1.0), 2)
    assert sorted(map(len, batches)) == [20, 20]
    assert all(len({test.partition("::")[0] for test in batch}) == 2 for batch in batches)
    assert len(split_tests(tests, dict.fromkeys(tests, 0.001), 8)) == 1


def test_shares_of_workers_add_up(engine: Engine, task: OpenTask) -> None:
    tests = task.record.tests
    run = run_release(engine, task, tests, RunOptions(workers=2, expected=dict.fromkeys(tests, 3.0), shuffle=1))
    assert run.outcomes == dict.fromkeys(tests, Outcome.PASSED), (run.failure, run.tampered, run.messages)
