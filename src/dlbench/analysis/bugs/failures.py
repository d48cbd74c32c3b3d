"""What is a failure, before anybody asks why?

A verdict that is not `pass` with the code that it is about. Our own faults are none of the model's bugs, so a
`harness_error` is never among them, and is counted aloud.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dlbench.dataset import Benchmark, Instance
from dlbench.execution.evaluate import find_code
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Status

Key = tuple[str, int]


@dataclass(frozen=True)
class Failure:
    run: str
    instance: Instance
    verdict: Mapping[str, Any]
    code: str | None
    """None where the answer holds no code, or the run folder has no samples."""
    prompt: str
    """What was asked, in our words."""

    @property
    def key(self) -> Key:
        return self.instance.id, self.verdict["sample"]

    @property
    def id(self) -> str:
        return f"{self.run}:{self.instance.id}#{self.verdict['sample']}"


@dataclass(frozen=True)
class Gathered:
    failures: tuple[Failure, ...]
    passed: int
    harness_errors: int
    unknown: int
    """Verdicts on instances that the benchmark does not have."""


def gather(
    run: str,
    benchmark: Benchmark,
    verdicts: Iterable[Mapping[str, Any]],
    samples: Mapping[Key, Sample],
    prompts: Mapping[Key, str] | None = None,
) -> Gathered:
    """`prompts`: what was asked where it was not the instance's own prompt."""
    failures: list[Failure] = []
    passed = faults = unknown = 0
    for verdict in verdicts:
        instance = benchmark.instances.get(verdict["instance"])
        if instance is None:
            unknown += 1
        elif verdict["status"] == Status.PASS:
            passed += 1
        elif verdict["status"] == Status.HARNESS_ERROR:
            faults += 1
        else:
            key = instance.id, verdict["sample"]
            prompt = (prompts or {}).get(key) or instance.prompt
            code = _find_code(samples.get(key), instance.qualname)
            failures.append(Failure(run, instance, verdict, code, prompt))
    return Gathered(tuple(failures), passed, faults, unknown)


@lru_cache(maxsize=4096)  # at temperature 0 a model says the same again
def _find_code(sample: Sample | None, qualname: str) -> str | None:
    return None if sample is None else find_code(sample, qualname).code
