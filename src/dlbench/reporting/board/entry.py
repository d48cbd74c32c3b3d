"""What does a submission to the leaderboard say?

Which model was asked and how, on which dataset, what became of every sample, and where the samples can be had. The
samples themselves are not in it: they are solutions to our own instances, which the repository must not hold; each is
named by its hash instead. One file a submission, in one spelling only, so that a change shows in a pull request.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError, field_validator

from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.records import Record, Sha256
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole
from dlbench.runs.verdict import Outcome, Status

FOLDER = "leaderboard"
BASELINES = ("reference", "stub")
"""Models of ours that show what 100 % and 0 % are; shown, and not ranked."""
LETTERS = {Outcome.PASSED: "p", Outcome.FAILED: "f", Outcome.ERROR: "e", Outcome.SKIPPED: "s", Outcome.NOT_RUN: "n"}
_OUTCOMES = {letter: outcome for outcome, letter in LETTERS.items()}

TIMEOUT, MEMORY = 60.0, 4096
"""The limits of `run` and `evaluate` when nothing is said: nobody on the board may have had more time or memory."""

Share = Annotated[float, Field(ge=0, le=1)]
Setting = bool | int | float | str | None


class Claim(Record):
    """A verdict as it is claimed."""

    instance: str
    sample: Annotated[int, Field(ge=0)]
    status: Status
    tests: Annotated[str, StringConstraints(pattern=r"^[pfesn]*$")]
    """The first letter of each outcome, in the order of the instance's tests."""
    sha256: Sha256
    """Of the answer."""

    @property
    def key(self) -> tuple[str, int]:
        return self.instance, self.sample


class Claimed(Record):
    """The score as it is claimed; it must follow from the verdicts."""

    pass_at_1: Share
    low: Share
    high: Share
    passing_rate: Share
    pass_at: dict[int, Share]


class Check(Record):
    """That so many samples were run again, and all of their verdicts found.

    It is the word of whoever keeps the board, and bound to the entry it was given for; no submission brings one.
    """

    date: date
    checked: Annotated[int, Field(ge=1)]
    seed: int
    dlbench: str
    entry_sha256: Sha256
    """Of everything else that the entry says."""


class Entry(Record):
    benchmark: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+$")]
    dataset_sha256: Sha256
    """Of what was asked and judged by: changes of the dataset show even under the same version."""
    split: str
    dlbench: str
    """The engine's version."""
    date: date
    settings: dict[str, Setting]
    """model, technique, temperature, samples, …"""
    samples_from: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]+$")]
    """Where the samples can be had, or how they are made again."""
    score: Claimed
    verified: Check | None = None
    verdicts_sha256: Sha256
    verdicts: Annotated[tuple[Claim, ...], Field(min_length=1)]

    @field_validator("settings")
    @classmethod
    def _say_what_is_shown(cls, settings: dict[str, Setting]) -> dict[str, Setting]:
        for key in ("model", "technique"):
            if not isinstance(settings.get(key), str) or not settings[key]:
                raise ValueError(f"{key} is not said")
        heat = settings.get("temperature", "")
        if heat is not None and not _is_number(heat):
            raise ValueError("temperature is not said; null is that of a model which takes none")
        if not isinstance(settings.get("samples"), int) or not _is_number(settings["samples"], least=1):
            raise ValueError("samples is not a number of samples")
        if not all(_is_number(settings.get(key, 1)) for key in ("timeout", "memory")):
            raise ValueError("timeout and memory are numbers")
        return settings

    @property
    def model(self) -> str:
        return str(self.settings["model"])

    @property
    def technique(self) -> str:
        return str(self.settings["technique"])

    @property
    def samples(self) -> int:
        return int(str(self.settings["samples"]))

    @property
    def limits(self) -> tuple[float, int]:
        """Seconds and MiB that a candidate had."""
        return float(str(self.settings.get("timeout", TIMEOUT))), int(float(str(self.settings.get("memory", MEMORY))))

    @property
    def is_baseline(self) -> bool:
        return self.model in BASELINES


def _is_number(value: Setting, least: float = 0) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value < float("inf")


def name_entry(entry: Entry) -> str:
    """The same for the same settings on the same dataset, whatever came out."""
    told = json.dumps([entry.benchmark, entry.split, entry.settings], sort_keys=True)
    parts = [entry.model, entry.technique, entry.split, hashlib.sha256(told.encode()).hexdigest()[:8]]
    return ".".join("".join(c if c.isalnum() or c in "-_" else "_" for c in part) for part in parts) + ".json"


def render_entry(entry: Entry) -> str:
    """Canonical: keys in order, and one verdict a line."""
    plain = entry.model_dump(mode="json")
    verdicts = [json.dumps(each, sort_keys=True, ensure_ascii=False) for each in plain.pop("verdicts")]
    head = json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False).removesuffix("\n}")
    return head + ',\n "verdicts": [\n  ' + ",\n  ".join(verdicts) + "\n ]\n}\n"


def read_entry(path: Path) -> Entry:
    mend = "write entries with `dlbench leaderboard add`; they are not edited by hand"
    try:
        text = path.read_text(encoding="utf-8")
        entry = Entry.model_validate(json.loads(text))
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), mend="check the path") from None
    except ValidationError as error:
        raise DLBenchError(f"not an entry: {tell_invalid(error)}", where=str(path), mend=mend) from None
    except (ValueError, RecursionError) as error:
        raise DLBenchError(f"not an entry: {error}", where=str(path), mend=mend) from None
    if render_entry(entry) != text:
        raise DLBenchError("not spelt as entries are", where=str(path), mend=mend)
    return entry


def tell_invalid(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'entry'}: {first['msg']}"


def write_entry(entry: Entry, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, render_entry(entry))


def find_entries(root: Path) -> list[Path]:
    return sorted((root / FOLDER).glob("*.json"))


def hash_entry(entry: Entry) -> str:
    return hashlib.sha256(render_entry(entry.model_copy(update={"verified": None})).encode()).hexdigest()


def hash_verdicts(claims: Iterable[Claim]) -> str:
    told = "\n".join(json.dumps(each.model_dump(mode="json"), sort_keys=True) for each in claims)
    return hashlib.sha256(told.encode()).hexdigest()


def hash_dataset(instances: Sequence[Instance], benchmark: Benchmark) -> str:
    """Of everything that a verdict depends on, apart from the engine and the lock of packages."""
    asked = [[one.id, one.prompt, one.sha256, *one.tests] for one in sorted(instances, key=lambda one: one.id)]
    projects = {one.project: benchmark.project_of(one).model_dump(mode="json") for one in instances}
    return hashlib.sha256(json.dumps([asked, projects], sort_keys=True).encode()).hexdigest()


def spell_tests(tests: dict[str, Any], instance: Instance) -> str:
    """Outcomes as letters; a test without one was not run."""
    return "".join(LETTERS[Outcome(tests.get(test, Outcome.NOT_RUN))] for test in instance.tests)


def as_record(claim: Claim, instance: Instance) -> dict[str, Any]:
    """The claim as scoring reads verdicts."""
    outcomes = [str(_OUTCOMES[letter]) for letter in claim.tests]
    tests = dict(zip(instance.tests, outcomes, strict=True))
    return {"instance": claim.instance, "sample": claim.sample, "status": str(claim.status), "tests": tests}
