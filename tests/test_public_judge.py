"""`dlbench.Judge` gives the verdicts of `evaluate` to threads and asyncio tasks, and rewards for training."""

import asyncio
import itertools
import multiprocessing
import threading
from dataclasses import replace

import pytest

import dlbench
from dlbench.runs.verdict import PENALTY, Outcome, Status, Verdict
from dlbench.validation import kills
from tests.cli.test_judging import ID, RIGHT, WRONG
from tests.conftest import TEST_IDS

STEP = "toy/toy.core.Counter.step"
PARTLY = "def scale(values, factor=2):\n    return [v * factor for v in values]\n"
"""Only the last test, on a factor of zero, fails."""
ENDLESS = "def scale(values, factor=2):\n    while True: pass\n"


@pytest.fixture(scope="module")
def judge(toy):
    with dlbench.Judge(toy, workers=2) as judge:
        yield judge


def test_code_and_answers_are_judged(judge, toy):
    assert judge.judge(ID, RIGHT).passed
    assert judge.judge(toy.instances[ID], f"Sure:\n```python\n{RIGHT}```\n", is_answer=True).passed
    assert judge.judge(ID, WRONG).status is Status.FAIL
    assert judge.judge(ID, "I do not know.", is_answer=True).status is Status.NO_CODE
    with pytest.raises(dlbench.DLBenchError, match="there is no instance 'toy/none'"):
        judge.judge("toy/none", RIGHT)


def test_answer_that_is_given_as_code_gets_a_hint(judge):
    answer = f"Sure:\n```python\n{RIGHT}```\n"
    verdict = judge.judge(ID, answer)
    assert verdict.status is Status.SYNTAX_ERROR
    assert verdict.message.endswith("pass is_answer=True, or `answer` instead of `code`")
    assert "is_answer" not in judge.judge(ID, "def scale(values:\n    return 1\n").message
    assert "is_answer" not in judge.judge(ID, "```python\ndef scale(values:\n```", is_answer=True).message


@pytest.mark.parametrize("candidate", [dlbench.extract(RIGHT, "scale"), None, RIGHT.encode()])
def test_candidate_that_is_no_text_is_refused(judge, candidate):
    with pytest.raises(dlbench.DLBenchError, match=r"not a text but (Extraction|NoneType|bytes)"):
        judge.judge(ID, candidate)
    with pytest.raises(dlbench.DLBenchError, match="not a text"):
        next(judge.judge_many([(ID, candidate)]))


def test_many_candidates_stream_with_their_places(judge):
    candidates = [(ID, RIGHT), (STEP, "def step(self, by=1):\n    return 1\n"), (ID, PARTLY), (ID, RIGHT)]
    found = {one.sample: (one.instance, str(one.status)) for one in judge.judge_many(candidates)}
    assert found == {0: (ID, "pass"), 1: (STEP, "fail"), 2: (ID, "fail"), 3: (ID, "pass")}


def test_endless_stream_is_read_only_as_far_as_verdicts_are_taken(judge):
    read = []
    endless = ((ID, RIGHT) for _ in itertools.takewhile(lambda n: read.append(n) or True, itertools.count()))
    stream = judge.judge_many(endless, ahead=3)
    assert [next(stream).passed for _ in range(5)] == [True] * 5
    assert len(read) <= 5 + 3


def test_asyncio_tasks_share_the_workers(judge):
    async def judge_all():
        return await asyncio.gather(*(judge.ajudge(ID, code) for code in (RIGHT, WRONG, RIGHT, PARTLY)))

    assert [one.passed for one in asyncio.run(judge_all())] == [True, False, True, False]


def test_equal_code_is_judged_once(toy):
    with dlbench.Judge(toy, workers=1) as judge:
        samples = [dlbench.Sample(ID, n, f"Answer {n}:\n```python\n{RIGHT}```\n") for n in range(4)]
        found = [one.result() for one in [judge.submit(sample) for sample in samples]]
        assert [one.sample for one in found] == [0, 1, 2, 3]
        assert [one.answer_sha256 for one in found] == [sample.sha256 for sample in samples]
        assert all(one.passed for one in found)
        assert judge.hits == 3
        assert judge.judge(ID, PARTLY).status is Status.FAIL
        assert judge.judge(ID, RIGHT.replace("v *", "v +")).status is Status.FAIL
        assert judge.judge(ID, f"{RIGHT}# again").passed
        assert judge.hits == 3, "other code got the verdict of this one"


@pytest.mark.slow
def test_verdict_that_the_machine_may_have_caused_is_not_kept(toy):
    with dlbench.Judge(toy, workers=1, timeout=1) as judge:
        assert {judge.judge(ID, ENDLESS).status for _ in range(2)} == {Status.TIMEOUT}
        assert judge.hits == 0


def test_fail_fast_stops_at_the_first_failure_and_passes_only_what_passes_all_tests(toy):
    with dlbench.Judge(toy, workers=1, fail_fast=True) as judge:
        failed = judge.judge(ID, WRONG)
        assert failed.status is Status.FAIL
        assert list(failed.tests.values()).count(Outcome.FAILED) == 1
        assert list(failed.tests.values()).count(Outcome.NOT_RUN) >= 1
        assert failed.reward() == 0
        assert judge.rewards == ("pass", "plus")
        with pytest.raises(dlbench.DLBenchError, match="the reward fraction needs all tests"):
            failed.reward("fraction")
        assert judge.judge(ID, PARTLY).status is Status.FAIL
        passed = judge.judge(ID, RIGHT)
        assert passed.passed
        assert list(passed.tests) == list(toy.instances[ID].tests)


def test_tests_that_kill_most_mutants_per_second_come_first(toy):
    tests = toy.instances[ID].tests
    killed = {tests[0]: (0,), tests[1]: (0, 1, 2), tests[2]: (3,), tests[3]: (1, 2), tests[4]: ()}
    seconds = dict.fromkeys(tests, 1.0) | {tests[1]: 9.0}
    order = kills.order_tests(toy.instances[ID], killed, seconds)
    assert order == (tests[3], tests[0], tests[2], tests[1], tests[4])


def test_graded_reward_weighs_tests_by_the_mutants_they_kill(toy):
    with dlbench.Judge(toy, workers=1, graded=True) as judge:
        found = judge.judge(ID, PARTLY)
        assert found.tests[TEST_IDS["scale"][-1]] is Outcome.FAILED
        weights = [1 + found.kills[test] for test in found.tests]
        assert found.reward("graded") == pytest.approx(1 - weights[-1] / sum(weights))
        assert len(set(weights)) > 1, "the tests of this instance kill different numbers of mutants"
        assert found.reward("fraction") == pytest.approx(0.8)
        assert judge.judge(ID, RIGHT).reward("graded") == 1
        for answer in ("def scale(:", "I do not know."):
            assert judge.judge(ID, answer, is_answer=True).reward("graded") == 0
        assert judge.rewards == ("pass", "plus", "fraction", "graded")
    with pytest.raises(dlbench.DLBenchError, match="choose one of fail_fast and graded"):
        dlbench.Judge(toy, graded=True, fail_fast=True)


@pytest.mark.parametrize("kind", ["pass", "plus", "fraction", "graded"])
def test_tampering_is_a_penalty_and_a_harness_error_is_no_reward(kind):
    found = Verdict("a/b", 0, Status.TAMPERED, {"t": Outcome.PASSED}, kills={"t": 1})
    assert found.reward(kind) == PENALTY < 0
    assert replace(found, status=Status.HARNESS_ERROR).reward(kind) is None
    assert replace(found, status=Status.TIMEOUT).reward(kind) == 0, "only a pass is worth 1"
    with pytest.raises(dlbench.DLBenchError, match="use one of: pass, plus, fraction, graded"):
        found.reward("partial")


def test_graded_reward_needs_what_is_known_about_the_tests():
    found = Verdict("a/b", 0, Status.FAIL, {"t": Outcome.PASSED, "u": Outcome.FAILED})
    assert found.reward("fraction") == 0.5
    with pytest.raises(dlbench.DLBenchError, match="open the judge with graded=True"):
        found.reward("graded")


def test_build_of_one_project_does_not_hold_candidates_of_others(judge):
    judge.prepare("toy")
    with judge._building:
        thread = threading.Thread(target=judge.judge, args=[ID, RIGHT], daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()


def test_closing_fails_those_who_wait(toy):
    judge = dlbench.Judge(toy, workers=1)
    waiting = judge.submit(dlbench.Sample(ID, 0, ENDLESS, is_code=True))
    threading.Timer(0.5, judge.close).start()
    with pytest.raises(dlbench.DLBenchError, match="the judge was stopped"):
        waiting.result()
    for use in (lambda: judge.judge(ID, RIGHT), lambda: judge.prepare()):
        with pytest.raises(dlbench.DLBenchError, match="the judge is closed"):
            use()


def test_forked_process_gets_an_error_and_leaves_the_judge_alone(judge):
    """Its threads do not exist there: a data loader that is forked would wait forever."""
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def ask() -> None:
        with judge:
            try:
                answers.put(str(judge.judge(ID, RIGHT).status))
            except dlbench.DLBenchError as error:
                answers.put(error.what)

    child = context.Process(target=ask, daemon=True)
    child.start()
    child.join(60)
    child.kill()
    assert not answers.empty()
    assert answers.get() == "the judge was opened in another process"
    assert judge.judge(ID, RIGHT).passed
