"""Find the failures of a run: verdicts that are not `pass`, with the code they are about."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dlbench.dataset import Benchmark, Instance
from dlbench.execution.sample_judge import find_code
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Status

Key = tuple[str, int]
"""Instance and sample index."""


@dataclass(frozen=True)
class Failure:
    run: str
    instance: Instance
    verdict: Mapping[str, Any]
    code: str | None
    """None if the answer has no code or the run folder has no samples."""

    @property
    def key(self) -> Key:
        return self.instance.id, self.verdict["sample"]

    @property
    def id(self) -> str:
        return f"{self.run}:{self.instance.id}#{self.verdict['sample']}"

    @property
    def message(self) -> str:
        return str(self.verdict.get("message", ""))


@dataclass(frozen=True)
class RunFailures:
    failures: tuple[Failure, ...]
    harness_errors: int
    """Our faults; they are no bugs of the model and are left out."""
    unknown: int
    """Verdicts on instances that the benchmark does not have."""


def find_failures(
    run: str, benchmark: Benchmark, verdicts: Iterable[Mapping[str, Any]], samples: Mapping[Key, Sample]
) -> RunFailures:
    failures: list[Failure] = []
    harness_errors = unknown = 0
    for verdict in verdicts:
        instance = benchmark.instances.get(verdict["instance"])
        if instance is None:
            unknown += 1
        elif verdict["status"] == Status.HARNESS_ERROR:
            harness_errors += 1
        elif verdict["status"] != Status.PASS:
            code = _extract_code(samples.get((instance.id, verdict["sample"])), instance.qualname)
            failures.append(Failure(run, instance, verdict, code))
    return RunFailures(tuple(failures), harness_errors, unknown)


@lru_cache(maxsize=4096)  # at temperature 0 samples repeat
def _extract_code(sample: Sample | None, qualname: str) -> str | None:
    return None if sample is None else find_code(sample, qualname).code
