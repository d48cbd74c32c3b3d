"""Answers that come one by one are judged as those of a file are, by workers that stay."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dlbench.errors import DLBenchError
from dlbench.execution import pool as pools
from dlbench.execution.evaluate import Judge, evaluate
from dlbench.execution.pool import Pool
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Verdict
from tests.cli.test_judging import RIGHT, WRONG, steady

SCALE, STEP = "toy/toy.core.scale", "toy/toy.core.Counter.step"
ANSWERS = [
    f"Sure:\n```python\n{RIGHT}```\n",
    WRONG,
    "I would multiply them, I think.",
    "```python\ndef rescale(values):\n    return 1\n```",
    "def scale(values, factor=2):\n    import os\n    os._exit(0)\n",
    "def scale(values, factor=2:\n    return 1\n",
]


@pytest.fixture
def open_desk(engine, toy_prepared):
    opened = []

    def start(workers=1):
        pool = Pool(engine, {"toy": toy_prepared}, workers=workers)
        opened.append(Judge(pool))
        return opened[-1], pool

    yield start
    for desk in opened:
        desk.close()


def test_answers_of_many_callers_get_the_verdicts_that_a_file_of_them_gets(
    open_desk, toy, engine, toy_prepared, tmp_path
):
    samples = [Sample(SCALE, number, answer) for number, answer in enumerate(ANSWERS)]
    samples.append(Sample(STEP, 0, "def step(self, by=1):\n    raise ValueError(by)", is_truncated=True))
    desk, _ = open_desk(workers=2)
    with ThreadPoolExecutor(len(samples)) as callers:
        found = list(callers.map(lambda sample: desk.judge(sample, toy.instances[sample.instance]), samples))
    expected = evaluate(toy, Pool(engine, {"toy": toy_prepared}, workers=1), samples, tmp_path)
    assert without_words(found) == without_words(expected)
    assert {str(one.status) for one in found} == {"pass", "fail", "no_code", "missing_target", "error", "syntax_error"}


def without_words(verdicts):
    """What a process had printed when it ended is a matter of luck."""
    return [
        {key: value for key, value in one.items() if key != "message"}
        for one in steady(map(Verdict.as_record, verdicts))
    ]


def test_a_worker_outlives_the_answer_it_was_started_for(open_desk, toy):
    desk, pool = open_desk()
    desk.judge(Sample(SCALE, 0, RIGHT), toy.instances[SCALE])
    first = pool.keepers[0].seat.warm["toy"]
    assert desk.judge(Sample(SCALE, 1, RIGHT), toy.instances[SCALE]).passed
    assert pool.keepers[0].seat.warm["toy"] is first


def test_a_desk_lets_go_of_workers_when_nothing_comes_and_judges_again_when_something_does(open_desk, toy, monkeypatch):
    monkeypatch.setattr(pools, "IDLE_SECONDS", 0.2)
    desk, pool = open_desk()
    desk.judge(Sample(SCALE, 0, RIGHT), toy.instances[SCALE])
    while pool.keepers[0].seat.warm:
        time.sleep(0.05)
    assert desk.judge(Sample(SCALE, 1, RIGHT), toy.instances[SCALE]).passed


def test_who_waits_at_a_desk_that_closes_gets_an_error_and_no_verdict(open_desk, toy):
    desk, pool = open_desk()
    with ThreadPoolExecutor(2) as callers:
        endless = "def scale(values, factor=2):\n    while True: pass\n"
        waiting = [callers.submit(desk.judge, Sample(SCALE, n, endless), toy.instances[SCALE]) for n in range(2)]
        while not pool.keepers[0].seat.warm:
            time.sleep(0.05)
        desk.close()
        for caller in waiting:
            with pytest.raises(DLBenchError, match="the judge was stopped"):
                caller.result()
    with pytest.raises(DLBenchError, match="the judge was stopped"):
        desk.judge(Sample(SCALE, 2, RIGHT), toy.instances[SCALE])
