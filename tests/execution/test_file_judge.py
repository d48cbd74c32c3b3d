"""Answers of several files are judged: honest ones pass in every form, and no message is lost."""

from collections.abc import Iterator

import pytest

from dlbench.dataset import load
from dlbench.dataset.tracks import read_tasks
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.file_judge import FileJudge, judge_answer, read_given, write_answer
from dlbench.execution.file_task import OpenTask
from dlbench.execution.task_prompt import build_prompt
from dlbench.extraction.file_answer import Given, extract_files
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.workspace import prepare
from tests.execution.file_task_toy import COMPONENT, CORE, HIDDEN, TABLES, TASK, write_toy
from tests.extraction.file_answers import CORE_PATH, TABLES_PATH, fence, list_shapes, replacement

BOTH = f"{fence(CORE, f'python {CORE_PATH}')}\n{fence(TABLES, f'python {TABLES_PATH}')}"


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, OpenTask]:
    benchmark = load(write_toy(tmp_path_factory.mktemp("toy")))
    prepared = prepare(benchmark.projects["toylib"], benchmark.root)
    return {name: OpenTask(record, prepared) for name, record in read_tasks(benchmark.root).items()}


@pytest.fixture(scope="module")
def task(tasks: dict[str, OpenTask]) -> OpenTask:
    return tasks[COMPONENT]


@pytest.fixture(scope="module")
def given(task: OpenTask) -> Given:
    return read_given(task)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(choose_sandbox(), Limits(load_seconds=60, test_seconds=10, memory_mb=1024))


@pytest.fixture
def judge(engine: Engine, tasks: dict[str, OpenTask]) -> Iterator[FileJudge]:
    opened = FileJudge(engine, tasks, 2)
    yield opened
    opened.close()


def judge_text(engine: Engine, task: OpenTask, text: str) -> Verdict:
    return judge_answer(engine, task, Sample(task.record.id, 0, text), read_given(task))


@pytest.mark.slow
def test_honest_answers_pass_in_every_form(engine: Engine, task: OpenTask, given: Given) -> None:
    """Answers that give the same files are judged once."""
    verdicts: dict[str, Verdict] = {}
    failed = {}
    for shape in list_shapes():
        files = repr(sorted(extract_files(shape.text, given).files.items()))
        if files not in verdicts:
            verdicts[files] = judge_text(engine, task, shape.text)
        if verdicts[files].status is not Status.PASS:
            failed[shape.name] = verdicts[files]
    assert not failed
    assert len(list_shapes()) >= 40


def test_the_solution_passes_and_what_is_given_fails(engine: Engine, task: OpenTask) -> None:
    passed = judge_text(engine, task, write_answer(task, solved=True))
    failed = judge_text(engine, task, write_answer(task, solved=False))
    assert (passed.status, passed.share, passed.extra["changed"]) == (Status.PASS, 1, [CORE_PATH, TABLES_PATH])
    assert (failed.status, failed.share, failed.extra.get("changed")) == (Status.FAIL, 0, None)


def test_a_file_that_does_not_parse_is_a_syntax_error(engine: Engine, task: OpenTask) -> None:
    broken = judge_text(engine, task, BOTH.replace("def clip(values, low, high):", "def clip(values low, high):"))
    assert (broken.status, broken.share) == (Status.SYNTAX_ERROR, 0)
    assert broken.message.startswith(f"{CORE_PATH}: ")


def test_edits_that_do_not_fit_are_named(engine: Engine, task: OpenTask) -> None:
    edits = replacement("class Table:", "class Table(object):") + replacement("def nothing():", "x = 1")
    verdict = judge_text(engine, task, f"{TABLES_PATH}\n{edits}")
    assert (verdict.status, verdict.extra["unplaced"]) == (Status.FAIL, [f"{TABLES_PATH}: def nothing():"])
    assert "1 edits do not fit" in verdict.message


def test_an_answer_without_code_runs_nothing(engine: Engine, task: OpenTask) -> None:
    sample = Sample(COMPONENT, 0, "I cannot.", is_truncated=True)
    verdict = judge_answer(engine, task, sample, read_given(task))
    assert (verdict.status, verdict.seconds, set(verdict.tests.values())) == (Status.NO_CODE, 0, {Outcome.NOT_RUN})
    assert list(verdict.tests) == list(HIDDEN)
    assert verdict.message.endswith("the answer is cut off")
    assert verdict.answer_sha256 == sample.sha256


def test_a_verdict_is_kept_before_it_is_known(judge: FileJudge, tasks: dict[str, OpenTask]) -> None:
    kept: list[Verdict] = []
    samples = [Sample(COMPONENT, number, text) for number, text in enumerate((BOTH, "nothing", BOTH))]
    futures = [judge.submit(sample, tasks[COMPONENT].record, kept.append) for sample in samples]
    assert [future.result().status for future in futures] == [Status.PASS, Status.NO_CODE, Status.PASS]
    assert sorted(verdict.sample for verdict in kept) == [0, 1, 2]


def test_an_error_while_keeping_ends_the_judge(judge: FileJudge, tasks: dict[str, OpenTask]) -> None:
    """Otherwise further answers would be paid for and never kept."""

    def fail(verdict: Verdict) -> None:
        raise DLBenchError("the disk is full")

    record = tasks[COMPONENT].record
    with pytest.raises(DLBenchError, match="the disk is full"):
        judge.submit(Sample(COMPONENT, 0, "nothing"), record, fail).result()
    with pytest.raises(DLBenchError, match="the disk is full"):
        judge.submit(Sample(COMPONENT, 1, "nothing"), record)


def test_a_prompt_shows_what_is_given_and_no_solution(tasks: dict[str, OpenTask]) -> None:
    for name in (COMPONENT, TASK):
        text = str(build_prompt(tasks[name]).turns)
        assert "def scale(values, factor=2):" in text
        assert "OFFSET = 0" in text
        for part in ("array.std()", "np.minimum", "self.count += by", "zip(self.values"):
            assert part not in text
        for test in HIDDEN:
            assert f"def {test.rpartition('::')[2].partition('[')[0]}(" not in text


def test_a_prompt_keeps_to_its_limit(tasks: dict[str, OpenTask]) -> None:
    """What matters least is left out first: other modules, tests that are shown, and bodies of what is to be changed."""
    whole, less = build_prompt(tasks[TASK], 0), build_prompt(tasks[TASK], 750)
    assert whole.notes["shown"] == ["tests/test_core.py", "tests/test_tables.py", "toylib/constants.py"]
    assert sum(len(one["content"]) for one in less.turns[0]) <= 4 * 750
    assert set(less.notes["shown"]) < set(whole.notes["shown"])
    assert "def scale(values, factor=2):" in str(less.turns)
