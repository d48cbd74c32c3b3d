"""Define the verdict on a candidate: a status, and an outcome for every test."""

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dlbench.errors import DLBenchError

VERDICTS = "verdicts.jsonl"


class Status(StrEnum):
    PASS = "pass"  # every test passed
    FAIL = "fail"  # the tests ran and at least one did not pass
    ERROR = "error"  # the candidate broke the module or ended the process before the tests finished
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    NO_CODE = "no_code"  # the answer contains no code
    SYNTAX_ERROR = "syntax_error"
    MISSING_TARGET = "missing_target"  # the code does not define the target
    TAMPERED = "tampered"  # it manipulated the judge, the tests or the reference
    UNCONFIRMED = "unconfirmed"  # unusual code whose pass could not be confirmed by replay: not a pass
    HARNESS_ERROR = "harness_error"  # our fault


class Confirm(StrEnum):
    """Which passes are replayed in a process that the candidate's code never enters."""

    UNUSUAL = "unusual"
    ALL = "all"


class Reward(StrEnum):
    """What a verdict is worth in training: docs/judge.md."""

    PASS = "pass"  # 1 if every test passed, else 0
    PLUS = "plus"  # 1 if it also holds on further inputs, where the instance has any
    FRACTION = "fraction"  # the share of tests that passed
    GRADED = "graded"  # the same, with each test weighed by the mutants that it kills


PENALTY = -1.0
"""The reward for tampering, of every kind."""


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    NOT_RUN = "not_run"


@dataclass(frozen=True)
class Verdict:
    instance: str
    sample: int
    status: Status
    tests: dict[str, Outcome]
    """Those that decide: for a task of many files the hidden tests."""
    seconds: float = 0.0
    test_seconds: float = 0.0
    """Of the tests alone, without imports."""
    processor_seconds: float = field(default=0.0, compare=False)
    """CPU time of the tests in all threads, without child processes. For studies; not recorded."""
    durations: dict[str, float] = field(default_factory=dict, compare=False)
    """Seconds of each test that ran; not recorded."""
    kills: dict[str, int] = field(default_factory=dict, compare=False)
    """How many mutants of the reference each test kills, for the graded reward; not recorded."""
    memory_mb: float = 0.0
    message: str = ""
    sandbox: str = ""
    mode: str = "fresh"
    answer_sha256: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    @property
    def share(self) -> float:
        """Of the tests, those that passed; 0 after tampering."""
        return share_passed(self.status, self.tests.values())

    @property
    def visible(self) -> dict[str, Outcome]:
        """Outcomes of the tests that whoever solves a task of many files sees; they do not decide."""
        return {test: Outcome(outcome) for test, outcome in self.extra.get("visible", {}).items()}

    @property
    def ignored(self) -> dict[str, str]:
        """Files of an answer that stayed as the release has them, with the reason."""
        return dict(self.extra.get("ignored", {}))

    def reward(self, kind: str = Reward.PASS) -> float | None:
        """1 for a pass and nothing else, `PENALTY` for tampering, otherwise by kind. None after a harness error, which
        says nothing about the answer."""
        if kind not in set(Reward):
            raise DLBenchError(f"there is no reward {kind!r}", fix=f"use one of: {', '.join(Reward)}")
        if self.status is Status.HARNESS_ERROR:
            return None
        if self.status is Status.TAMPERED:
            return PENALTY
        if kind == Reward.PLUS:
            return float(self.passed and self.extra.get("plus") != "failed")
        if kind == Reward.PASS or self.passed:
            return float(self.passed)
        if "fail_fast" in self.extra:
            raise DLBenchError(f"the reward {kind} needs all tests", fix="judge without fail_fast")
        passed = [test for test, outcome in self.tests.items() if outcome is Outcome.PASSED]
        if kind == Reward.GRADED and passed and not self.kills:
            raise DLBenchError("nothing is known about the tests", fix="open the judge with graded=True")
        weights = {test: 1 + self.kills.get(test, 0) if kind == Reward.GRADED else 1 for test in self.tests}
        share = sum(weights[test] for test in passed) / sum(weights.values())
        return share if share < 1 else 0.0  # it hangs after its tests

    def as_record(self) -> dict[str, Any]:
        record: dict[str, Any] = {key: getattr(self, key) for key in _TYPES}
        record["status"] = str(self.status)
        record["tests"] = {test: str(outcome) for test, outcome in self.tests.items()}
        record |= {"seconds": round(self.seconds, 3), "test_seconds": round(self.test_seconds, 3)}
        return record | {"memory_mb": round(self.memory_mb, 1)} | self.extra

    @classmethod
    def check_record(cls, record: dict[str, Any], where: str = "") -> dict[str, Any]:
        """The complete record: `from_record(record).as_record()`, but many times faster if nothing is missing."""
        return record if _is_complete(record) else cls.from_record(record, where).as_record()

    @classmethod
    def from_record(cls, record: dict[str, Any], where: str = "") -> "Verdict":
        try:
            known = {key: record[key] for key in _TYPES if key in record}
            known |= {key: float(known[key]) for key in ("seconds", "test_seconds", "memory_mb") if key in known}
            known |= {"instance": record["instance"], "sample": int(record["sample"])}
            known["status"] = Status(record["status"])
            known["tests"] = {test: Outcome(outcome) for test, outcome in record["tests"].items()}
            return cls(**known, extra={key: value for key, value in record.items() if key not in _TYPES})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"not a verdict: {type(error).__name__} {error}"
            raise DLBenchError(what, where=where, fix="pass a folder that `run` or `evaluate` wrote") from None


def share_passed(status: str, outcomes: Collection[str]) -> float:
    if not outcomes or status == Status.TAMPERED:
        return 0.0
    return list(outcomes).count(Outcome.PASSED) / len(outcomes)


_STATUSES, _OUTCOMES = frozenset(map(str, Status)), frozenset(map(str, Outcome))
_TYPES = {"instance": str, "sample": int, "status": str, "tests": dict, "seconds": float, "test_seconds": float}
_TYPES |= {"memory_mb": float, "message": str, "sandbox": str, "mode": str, "answer_sha256": str}
_TYPE_LIST = list(_TYPES.values())


def _is_complete(record: dict[str, Any]) -> bool:
    if list(map(type, map(record.get, _TYPES))) != _TYPE_LIST or record["status"] not in _STATUSES:
        return False
    outcomes = record["tests"].values()
    return set(map(type, outcomes)) <= {str} and _OUTCOMES.issuperset(outcomes)
