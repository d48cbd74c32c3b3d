"""Share one judge and one way of building prompts between the bridges to frameworks that ask models themselves."""

import atexit
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from dlbench.api import Judge
from dlbench.dataset import Benchmark, Instance, Selection, load, select
from dlbench.errors import DLBenchError
from dlbench.generation import Message
from dlbench.generation.sources import Sources, make_prompt_builder
from dlbench.runs.verdict import Outcome, Reward, Status, Verdict


@cache
def read_benchmark(root: str | None) -> Benchmark:
    return load(Path(root) if root else None)


judges = ExitStack()
"""Closes every judge that was opened."""
atexit.register(judges.close)
_lock = Lock()


def find_judge(benchmark: str | None = None, **options: Any) -> Judge:  # noqa: ANN401 - options of `Judge`
    """One judge per benchmark folder (None: the bundled one) and options. It stays open until the process ends, so that
    everything in the process shares its warm workers."""
    with _lock:  # two threads would open two judges
        return _open_judge(benchmark, **options)


def require_reward(judge: Judge, kind: str) -> None:
    """A kind that the judge cannot give is an error before training, not at the first answer that fails in part."""
    if kind not in judge.rewards:
        fix = f"use one of: {', '.join(judge.rewards)}"
        if kind == Reward.GRADED:
            fix = "open the judge with graded=True"
        elif kind in set(Reward):
            fix = "open the judge without fail_fast"
        raise DLBenchError(f"the judge does not give the reward {kind!r}", fix=fix)


@cache
def _open_judge(benchmark: str | None, **options: Any) -> Judge:  # noqa: ANN401 - options of `Judge`
    judge = Judge(read_benchmark(benchmark), log=print, **options)
    judges.callback(judge.close)
    return judge


def build_single_turns(
    benchmark: Benchmark,
    split: str = "full",
    technique: str = "zero-shot",
    *,
    shots: int = 3,
    prompt_tokens: int = 6000,
    seed: int = 0,
) -> Iterator[tuple[Instance, list[Message]]]:
    """The instances of a split with the prompts of `dlbench run`, for frameworks that take one answer per prompt."""
    prompts = make_prompt_builder(Sources(benchmark), technique, shots, seed, prompt_tokens)
    for instance in select(benchmark, Selection(split=split)):
        first, *later = prompts.build(instance).turns
        if later or prompts.technique.feedback is not None:
            raise DLBenchError(f"{technique} needs several answers", fix="use zero-shot, or another of one turn")
        yield instance, first


def measure(verdict: Verdict) -> dict[str, float]:
    """Metrics to log beside the reward: 1 for the status, 0 for every other, and the share of tests passed, which is
    unknown after a harness error."""
    metrics = {f"status_{status}": float(verdict.status is status) for status in Status}
    if verdict.status is Status.HARNESS_ERROR:
        return metrics
    passed = sum(outcome is Outcome.PASSED for outcome in verdict.tests.values())
    return metrics | {"tests_passed": passed / len(verdict.tests)}
