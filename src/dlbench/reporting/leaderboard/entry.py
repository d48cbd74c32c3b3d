"""The record of a submission to the leaderboard, and how a run becomes one.

The samples are not part of it: they are solutions to our own instances, which the repository must not contain. One file
per submission, in one canonical form, so that a change shows in a pull request.
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
from dlbench.dataset.validation import name_records
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole
from dlbench.registry import find_known
from dlbench.reporting.caveats import find_nearest_split
from dlbench.runs import Run
from dlbench.runs.verdict import VERDICTS, Outcome, Status
from dlbench.scoring import HARNESS_ERROR, summarise

FOLDER = "leaderboard"
BASELINES = ("reference", "stub", "mutant")
"""Models of ours, made from the reference; shown, not ranked."""

TIMEOUT, MEMORY = 60.0, 4096
"""The default limits of `run` and `evaluate`: no submission may use more time or memory."""

Share = Annotated[float, Field(ge=0, le=1)]
Setting = bool | int | float | str | None


class Claim(Record):
    instance: str
    sample: Annotated[int, Field(ge=0)]
    status: Status
    tests: Annotated[str, StringConstraints(pattern=r"^[pfesn]*$")]
    """As `spell_tests` gives them."""
    sha256: Sha256
    """Of the answer."""

    @property
    def key(self) -> tuple[str, int]:
        return self.instance, self.sample


class ClaimedScore(Record):
    """It must follow from the verdicts."""

    pass_at_1: Share
    low: Share
    high: Share
    passing_rate: Share
    pass_at: dict[int, Share]


class Verification(Record):
    """That so many samples were judged again, with the claimed verdicts; written by the maintainers."""

    date: date
    checked: Annotated[int, Field(ge=1)]
    seed: int
    dlbench: str
    entry_sha256: Sha256
    """Of the rest of the entry."""


class Entry(Record):
    benchmark: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+$")]
    dataset_sha256: Sha256
    """Of prompts, tests and sources: reveals a changed dataset under the same version."""
    split: str
    dlbench: str
    """The engine's version."""
    date: date
    settings: dict[str, Setting]
    """model, technique, temperature, samples, …"""
    samples_from: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]+$")]
    """Where the samples can be downloaded, or how to reproduce them."""
    score: ClaimedScore
    verified: Verification | None = None
    verdicts_sha256: Sha256
    verdicts: Annotated[tuple[Claim, ...], Field(min_length=1)]

    @field_validator("settings")
    @classmethod
    def _check_settings(cls, settings: dict[str, Setting]) -> dict[str, Setting]:
        for key in ("model", "technique"):
            if not isinstance(settings.get(key), str) or not settings[key]:
                raise ValueError(f"{key} is missing")
        temperature = settings.get("temperature", "")
        if temperature is not None and not _is_number(temperature):
            raise ValueError("temperature is missing; null is for a model without one")
        if not isinstance(settings.get("samples"), int) or not _is_number(settings["samples"], least=1):
            raise ValueError("samples is not a positive number")
        if not all(_is_number(settings.get(key, 1)) for key in ("timeout", "memory")):
            raise ValueError("timeout and memory must be numbers")
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
        """Seconds and MiB per candidate."""
        return float(str(self.settings.get("timeout", TIMEOUT))), int(float(str(self.settings.get("memory", MEMORY))))

    @property
    def is_baseline(self) -> bool:
        return self.model in BASELINES


def _is_number(value: Setting, least: float = 0) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value < float("inf")


def name_entry(entry: Entry) -> str:
    """Equal for equal settings on the same dataset, whatever the results."""
    identity = json.dumps([entry.benchmark, entry.split, entry.settings], sort_keys=True)
    parts = [entry.model, entry.technique, entry.split, hashlib.sha256(identity.encode()).hexdigest()[:8]]
    return ".".join("".join(c if c.isalnum() or c in "-_" else "_" for c in part) for part in parts) + ".json"


def render_entry(entry: Entry) -> str:
    """Canonical: sorted keys, one verdict per line."""
    plain = entry.model_dump(mode="json")
    verdicts = [json.dumps(each, sort_keys=True, ensure_ascii=False) for each in plain.pop("verdicts")]
    head = json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False).removesuffix("\n}")
    return head + ',\n "verdicts": [\n  ' + ",\n  ".join(verdicts) + "\n ]\n}\n"


def read_entry(path: Path) -> Entry:
    fix = "write entries with `dlbench leaderboard add`; do not edit them by hand"
    try:
        text = path.read_text(encoding="utf-8")
        entry = Entry.model_validate(json.loads(text))
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
    except (ValueError, RecursionError) as error:
        raise DLBenchError(f"not an entry: {_describe_invalid(error)}", where=str(path), fix=fix) from None
    if render_entry(entry) != text:
        raise DLBenchError("not in the canonical form", where=str(path), fix=fix)
    return entry


def _describe_invalid(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
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
    lines = (json.dumps(each.model_dump(mode="json"), sort_keys=True) for each in claims)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def hash_dataset(instances: Sequence[Instance], benchmark: Benchmark) -> str:
    """Of everything that a verdict depends on, except the engine and the package lock."""
    tasks = [[one.id, one.prompt, one.sha256, *one.tests] for one in sorted(instances, key=lambda one: one.id)]
    projects = {one.project: benchmark.project_of(one).model_dump(mode="json") for one in instances}
    return hashlib.sha256(json.dumps([tasks, projects], sort_keys=True).encode()).hexdigest()


def spell_tests(tests: Mapping[str, str], names: Iterable[str]) -> str:
    """The first letter of each outcome, in the order of the names; a missing test was not run."""
    return "".join(tests.get(test, Outcome.NOT_RUN)[0] for test in names)


_REQUIRED = ("model", "technique", "temperature")
SETTINGS: tuple[str, ...] = (*_REQUIRED, "shots", "predicted_stages", "prompt_tokens", "max_tokens", "seed", "canary")
SETTINGS += ("timeout", "memory", "variants", "tests", "rule", "rewrite", "top_p", "reasoning_effort")
SETTINGS += ("repair_rounds",)
"""Settings that an entry copies from a run's configuration: none that could name a machine, a folder or a key."""


def make_entry(
    run: Run,
    benchmark: Benchmark,
    samples_from: str,
    *,
    split: str | None = None,
    day: date | None = None,
    stated: Mapping[str, Setting] | None = None,
) -> Entry:
    """`stated`: settings from the submitter; they must not contradict the run."""
    if PurePath(samples_from).is_absolute():
        fix = "pass a URL, or say how to reproduce the samples"
        raise DLBenchError("others cannot read a path of this machine", where=samples_from, fix=fix)
    settings = _find_settings(run, stated or {})
    _check_run(run, benchmark)
    split = split or _find_split(run, benchmark)
    instances = select(benchmark, Selection(split=split))
    claims = [_claim(record, benchmark) for record in sorted(run.verdicts, key=lambda r: (r["instance"], r["sample"]))]
    settings["samples"] = max(Counter(one.instance for one in claims).values())
    try:
        return Entry(
            benchmark=str(benchmark.version),
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
        fix = "correct the options, or judge the samples again with `dlbench evaluate`"
        raise DLBenchError(f"not a valid entry: {_describe_invalid(error)}", where=str(run.folder), fix=fix) from None


def score_claims(claims: Iterable[Claim], benchmark: Benchmark) -> ClaimedScore:
    outcomes = {outcome[0]: str(outcome) for outcome in Outcome}
    records = []
    for one in claims:
        names = benchmark.instances[one.instance].tests
        tests = {name: outcomes[letter] for name, letter in zip(names, one.tests, strict=True)}
        records.append({"instance": one.instance, "sample": one.sample, "status": str(one.status), "tests": tests})
    overall = summarise(records, benchmark, ()).overall
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
        tests=spell_tests(record["tests"], instance.tests),
        sha256=record["answer_sha256"],
    )


def _find_settings(run: Run, stated: Mapping[str, Setting]) -> dict[str, Setting]:
    known: dict[str, Setting] = {
        key: run.config[key] for key in SETTINGS if key in run.config and isinstance(run.config[key], Setting)
    }
    if known.get("predicted_stages", "") is None:  # most techniques do not use it
        del known["predicted_stages"]
    # the model of an evaluated file is the name of the file
    if known.get("technique") is None:
        known = {key: value for key, value in known.items() if key not in _REQUIRED}
    for key, value in stated.items():
        if known.get(key, value) != value:
            what = f"the run has {key} {known[key]!r}, you passed {value!r}"
            raise DLBenchError(what, where=str(run.folder), fix="leave the option out")
    settings = {**known, **stated}
    if missing := [key for key in _REQUIRED if key not in settings]:
        fix = f"pass {' '.join(f'--{key} …' for key in missing)}"
        raise DLBenchError(f"the run does not record its {', '.join(missing)}", where=str(run.folder), fix=fix)
    return settings


def _check_run(run: Run, benchmark: Benchmark) -> None:
    here = name_records(benchmark)
    version = str(run.config.get("benchmark", here))
    faults = [record["instance"] for record in run.verdicts if record["status"] == HARNESS_ERROR]
    unhashed = next((record["instance"] for record in run.verdicts if not record["answer_sha256"]), None)
    again = "judge its samples again with `dlbench evaluate`"
    if version not in (here, str(benchmark.version)):
        what, fix = f"the run is on version {version}, this is {here}", f"{again}, on this version"
    elif faults:
        what = f"{len(faults)} verdicts are harness errors, the first on {faults[0]}"
        fix = "run the command of the run again to retry them"
    elif unhashed:
        what, fix = f"the verdict on {unhashed} has no hash of the answer", again
    else:
        return
    raise DLBenchError(what, where=str(run.folder), fix=fix)


def _find_split(run: Run, benchmark: Benchmark) -> str:
    """The split with exactly the run's instances."""
    judged = {record["instance"] for record in run.verdicts}
    name, members = find_nearest_split(judged, benchmark)
    if members == judged:
        return name
    missing, more = sorted(members - judged), sorted(judged - members)
    what = f"the run is not a whole split; of {name}, the nearest, it lacks {len(missing)} and has {len(more)} too many"
    shown = ", ".join([*missing, *more][:5])
    raise DLBenchError(f"{what} ({shown})", where=str(run.folder), fix="finish a run with `--split NAME`")
