"""Samples that arrive one by one get the verdicts of `evaluate`, from workers that stay warm."""

import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dlbench.errors import DLBenchError
from dlbench.execution import pool as pool_module
from dlbench.execution.evaluate import evaluate, open_evaluation
from dlbench.execution.pool import Pool
from dlbench.execution.sample_judge import SampleJudge
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
def open_judge(engine, toy_prepared):
    opened = []

    def start(workers=1):
        pool = Pool(engine, {"toy": toy_prepared}, workers=workers)
        opened.append(SampleJudge(pool))
        return opened[-1], pool

    yield start
    for judge in opened:
        judge.close()


def test_samples_of_many_callers_get_the_verdicts_of_evaluate(open_judge, toy, engine, toy_prepared, tmp_path):
    samples = [Sample(SCALE, number, answer) for number, answer in enumerate(ANSWERS)]
    samples.append(Sample(STEP, 0, "def step(self, by=1):\n    raise ValueError(by)", is_truncated=True))
    judge, _ = open_judge(workers=2)
    with ThreadPoolExecutor(len(samples)) as callers:
        found = list(callers.map(lambda sample: judge.judge(sample, toy.instances[sample.instance]), samples))
    expected = evaluate(toy, Pool(engine, {"toy": toy_prepared}, workers=1), samples, tmp_path)
    assert without_messages(found) == without_messages(expected)
    assert {str(one.status) for one in found} == {"pass", "fail", "no_code", "missing_target", "error", "syntax_error"}


def without_messages(verdicts):
    """How much a process printed before it ended depends on timing."""
    return [
        {key: value for key, value in one.items() if key != "message"}
        for one in steady(map(Verdict.as_record, verdicts))
    ]


def test_worker_is_reused_for_the_next_sample(open_judge, toy):
    judge, pool = open_judge()
    judge.judge(Sample(SCALE, 0, RIGHT), toy.instances[SCALE])
    first = pool.caches[0].warm["toy"]
    assert judge.judge(Sample(SCALE, 1, RIGHT), toy.instances[SCALE]).passed
    assert pool.caches[0].warm["toy"] is first


def test_idle_judge_stops_its_workers_and_restarts_them(open_judge, toy, monkeypatch):
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", 0.2)
    judge, pool = open_judge()
    judge.judge(Sample(SCALE, 0, RIGHT), toy.instances[SCALE])
    while pool.caches[0].warm:
        time.sleep(0.05)
    assert judge.judge(Sample(SCALE, 1, RIGHT), toy.instances[SCALE]).passed


def test_verdict_that_cannot_be_kept_ends_the_evaluation_with_its_error(toy, engine, toy_prepared, tmp_path):
    """Further answers would be paid for and never judged."""

    def fail(verdict):
        raise DLBenchError("the disk is full")

    def add_more(evaluation):
        for number in itertools.count(1):  # until the worker has ended
            evaluation.add(Sample(SCALE, number, RIGHT))

    pool = Pool(engine, {"toy": toy_prepared})
    with open_evaluation(toy, pool, [], tmp_path, on_verdict=fail, on_kept=lambda count: None) as evaluation:
        with pytest.raises(DLBenchError, match="the disk is full"):
            evaluation.finish([Sample(SCALE, 0, RIGHT)])
        with pytest.raises(DLBenchError, match="the disk is full"):
            add_more(evaluation)


def test_closing_fails_pending_and_later_samples(open_judge, toy):
    judge, pool = open_judge()
    with ThreadPoolExecutor(2) as callers:
        endless = "def scale(values, factor=2):\n    while True: pass\n"
        waiting = [callers.submit(judge.judge, Sample(SCALE, n, endless), toy.instances[SCALE]) for n in range(2)]
        while not pool.caches[0].warm:
            time.sleep(0.05)
        judge.close()
        for caller in waiting:
            with pytest.raises(DLBenchError, match="the judge was stopped"):
                caller.result()
    with pytest.raises(DLBenchError, match="the judge was stopped"):
        judge.judge(Sample(SCALE, 2, RIGHT), toy.instances[SCALE])
