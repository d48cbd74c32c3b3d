"""Define the verdict on a candidate: a status, and an outcome for every test."""

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
    seconds: float = 0.0
    test_seconds: float = 0.0
    """Of the tests alone, without imports."""
    processor_seconds: float = field(default=0.0, compare=False)
    """CPU time of the tests in all threads, without child processes. For studies; not recorded."""
    memory_mb: float = 0.0
    message: str = ""
    sandbox: str = ""
    mode: str = "fresh"
    answer_sha256: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

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


_STATUSES, _OUTCOMES = frozenset(map(str, Status)), frozenset(map(str, Outcome))
_TYPES = {"instance": str, "sample": int, "status": str, "tests": dict, "seconds": float, "test_seconds": float}
_TYPES |= {"memory_mb": float, "message": str, "sandbox": str, "mode": str, "answer_sha256": str}
_TYPE_LIST = list(_TYPES.values())


def _is_complete(record: dict[str, Any]) -> bool:
    if list(map(type, map(record.get, _TYPES))) != _TYPE_LIST or record["status"] not in _STATUSES:
        return False
    outcomes = record["tests"].values()
    return set(map(type, outcomes)) <= {str} and _OUTCOMES.issuperset(outcomes)
