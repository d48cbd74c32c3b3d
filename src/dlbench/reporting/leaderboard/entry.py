"""What does a submission to the leaderboard say?

Which model was asked and how, on which dataset, what became of every sample, and where the samples can be had. The
samples themselves are not in it: they are solutions to our own instances, which the repository must not hold; each is
named by its hash instead. One file a submission, in one spelling only, so that a change shows in a pull request.

How does a run become a submission?

Whole, or not at all: a split with every one of its instances, as many samples of each, and nothing that is our own
fault. What a run folder does not know (an evaluated file says nothing of its model) the submitter has to say.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError, field_validator

from dlbench.dataset import Benchmark, Instance, Selection, select
from dlbench.dataset.records import Record, Sha256
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole
from dlbench.registry import find_known
from dlbench.reporting.caveats import find_nearest_split
from dlbench.runs import Run
from dlbench.runs.verdict import VERDICTS, Outcome, Status
from dlbench.scoring import HARNESS_ERROR, summarise

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


class ClaimedScore(Record):
    """The score as it is claimed; it must follow from the verdicts."""

    pass_at_1: Share
    low: Share
    high: Share
    passing_rate: Share
    pass_at: dict[int, Share]


class Verification(Record):
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
    score: ClaimedScore
    verified: Verification | None = None
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
    fix = "write entries with `dlbench leaderboard add`; they are not edited by hand"
    try:
        text = path.read_text(encoding="utf-8")
        entry = Entry.model_validate(json.loads(text))
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
    except ValidationError as error:
        raise DLBenchError(f"not an entry: {describe_invalid(error)}", where=str(path), fix=fix) from None
    except (ValueError, RecursionError) as error:
        raise DLBenchError(f"not an entry: {error}", where=str(path), fix=fix) from None
    if render_entry(entry) != text:
        raise DLBenchError("not spelt as entries are", where=str(path), fix=fix)
    return entry


def describe_invalid(error: ValidationError) -> str:
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


SETTINGS = (
    "model",
    "technique",
    "temperature",
    "shots",
    "predicted_stages",
    "prompt_tokens",
    "max_tokens",
    "seed",
    "canary",
    "timeout",
    "memory",
    "variants",
    "tests",
    "rule",
    "rewrite",
)
"""What an entry takes over of a run's configuration: nothing that could name a machine, a folder or a key."""
_NEEDED = ("model", "technique", "temperature")


def make_entry(
    run: Run,
    benchmark: Benchmark,
    samples_from: str,
    *,
    split: str | None = None,
    day: date | None = None,
    told: Mapping[str, Setting] | None = None,
) -> Entry:
    """`told`: what the submitter says of the run; it must not say otherwise than the run does."""
    if PurePath(samples_from).is_absolute():
        fix = "give an address that others can reach, or say how the samples are made"
        raise DLBenchError("a folder of this machine helps nobody else", where=samples_from, fix=fix)
    settings = _find_settings(run, told or {})
    _refuse_unfit(run, benchmark)
    split = split or _find_split(run, benchmark)
    instances = select(benchmark, Selection(split=split))
    claims = [_claim(record, benchmark) for record in sorted(run.verdicts, key=lambda r: (r["instance"], r["sample"]))]
    settings["samples"] = max(Counter(one.instance for one in claims).values())
    try:
        return Entry(
            benchmark=str(run.config.get("benchmark", benchmark.version)),
            dataset_sha256=hash_dataset(instances, benchmark),
            split=split,
            dlbench=str(run.config.get("dlbench", "unknown")),
            date=day or datetime.fromtimestamp((run.folder / VERDICTS).stat().st_mtime, UTC).date(),
            settings=settings,
            samples_from=samples_from,
            score=score_claims(claims, benchmark),
            verdicts_sha256=hash_verdicts(claims),
            verdicts=tuple(claims),
        )
    except ValidationError as error:
        fix = "change what was said of the run, or judge its samples again with `dlbench evaluate`"
        raise DLBenchError(f"this is no entry: {describe_invalid(error)}", where=str(run.folder), fix=fix) from None


def score_claims(claims: list[Claim], benchmark: Benchmark) -> ClaimedScore:
    overall = summarise([as_record(one, benchmark.instances[one.instance]) for one in claims], benchmark, ()).overall
    return ClaimedScore(
        pass_at_1=overall.pass_at_1,
        low=overall.interval.low,
        high=overall.interval.high,
        passing_rate=overall.passing_rate,
        pass_at={k: share for k, share in overall.pass_at.items() if k > 1 and share == share},
    )


def _claim(record: dict[str, Any], benchmark: Benchmark) -> Claim:
    instance = find_known(record["instance"], benchmark.instances, "instance")
    return Claim(
        instance=instance.id,
        sample=record["sample"],
        status=record["status"],
        tests=spell_tests(record["tests"], instance),
        sha256=record["answer_sha256"],
    )


def _find_settings(run: Run, told: Mapping[str, Setting]) -> dict[str, Setting]:
    known: dict[str, Setting] = {
        key: run.config[key] for key in SETTINGS if key in run.config and isinstance(run.config[key], Setting)
    }
    if known.get("predicted_stages", "") is None:  # of most techniques it is no setting
        del known["predicted_stages"]
    # a file that was evaluated is named by the file, which is not the model's name
    if known.get("technique") is None:
        known = {key: value for key, value in known.items() if key not in _NEEDED}
    for key, value in told.items():
        if known.get(key, value) != value:
            raise DLBenchError(
                f"the run says {key} {known[key]!r}, not {value!r}", where=str(run.folder), fix="leave it out"
            )
    settings = {**known, **told}
    if missing := [key for key in _NEEDED if key not in settings]:
        fix = f"say it: {' '.join(f'--{key} …' for key in missing)}"
        raise DLBenchError(f"the run does not say its {', '.join(missing)}", where=str(run.folder), fix=fix)
    return settings


def _refuse_unfit(run: Run, benchmark: Benchmark) -> None:
    version = str(run.config.get("benchmark", benchmark.version))
    if version != str(benchmark.version):
        fix = "judge its samples again with `dlbench evaluate`, on this version"
        raise DLBenchError(
            f"the run is on version {version}, this is {benchmark.version}", where=str(run.folder), fix=fix
        )
    faults = [record["instance"] for record in run.verdicts if record["status"] == HARNESS_ERROR]
    if faults:
        fix = "start the run's own command again, which tries them again"
        raise DLBenchError(
            f"{len(faults)} verdicts are harness errors, the first on {faults[0]}", where=str(run.folder), fix=fix
        )
    unnamed = next((record["instance"] for record in run.verdicts if not record["answer_sha256"]), None)
    if unnamed:
        fix = "judge its samples again with `dlbench evaluate`"
        raise DLBenchError(f"the verdict on {unnamed} does not say on which answer", where=str(run.folder), fix=fix)


def _find_split(run: Run, benchmark: Benchmark) -> str:
    """The split whose instances the run has, no more and no fewer."""
    judged = {record["instance"] for record in run.verdicts}
    name, members = find_nearest_split(judged, benchmark)
    if members == judged:
        return name
    lacking, more = sorted(members - judged), sorted(judged - members)
    what = f"the run has no whole split; of {name}, the nearest, it lacks {len(lacking)} and has {len(more)} too many"
    shown = ", ".join([*lacking, *more][:5])
    raise DLBenchError(f"{what} ({shown})", where=str(run.folder), fix="run `--split NAME` to its end")
