"""TRL: the dataset and the reward function for `GRPOTrainer` and `RLOOTrainer` (docs/training.md)."""

from collections.abc import Callable, Mapping, Sequence
from logging import getLogger
from typing import Any

from datasets import Dataset

from dlbench.api import Judge
from dlbench.bridges.shared import build_single_turns, measure, require_reward
from dlbench.dataset import Benchmark
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Reward, Status

Completion = str | Sequence[Mapping[str, Any]]
"""Text, or the messages of a conversation."""
RewardFunction = Callable[..., list[float | None]]

_log = getLogger(__name__)


def make_dataset(benchmark: Benchmark, split: str = "full", technique: str = "zero-shot", **options: int) -> Dataset:
    """One row per instance: `prompt`, as messages, and `instance`. `options`: shots, prompt_tokens, seed."""
    rows = build_single_turns(benchmark, split, technique, **options)
    return Dataset.from_list([{"prompt": messages, "instance": one.id} for one, messages in rows])


def make_reward(judge: Judge, kind: str = Reward.PASS) -> RewardFunction:
    """A function for `reward_funcs`; the dataset needs the column `instance`. All completions of a batch are judged at
    once. After a harness error the reward is None, which TRL leaves out of the group's baseline and of the loss."""
    require_reward(judge, kind)

    def dlbench(
        completions: Sequence[Completion],
        instance: Sequence[str],
        log_metric: Callable[[str, float], None] = lambda name, value: None,
        **unused: object,
    ) -> list[float | None]:
        texts = [one if isinstance(one, str) else str(one[-1]["content"] or "") for one in completions]
        samples = [Sample(name, place, text) for place, (name, text) in enumerate(zip(instance, texts, strict=True))]
        verdicts = [one.result() for one in [judge.submit(sample) for sample in samples]]
        for verdict in verdicts:
            if verdict.status is Status.HARNESS_ERROR:
                _log.warning("harness error, left out: %s: %s", verdict.instance, verdict.message)
            for name, value in measure(verdict).items():
                log_metric(f"dlbench/{name}", value)
        return [one.reward(kind) for one in verdicts]

    return dlbench
