"""How does a run become a submission?

Whole, or not at all: a split with every one of its instances, as many samples of each, and nothing that is our own
fault. What a run folder does not know (an evaluated file says nothing of its model) the submitter has to say.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import PurePath
from typing import Any

from pydantic import ValidationError

from dlbench.dataset import Benchmark, Selection, find_known, select
from dlbench.errors import DLBenchError
from dlbench.reporting.board.entry import (
    Claim,
    Claimed,
    Entry,
    Setting,
    as_record,
    hash_dataset,
    hash_verdicts,
    spell_tests,
    tell_invalid,
)
from dlbench.reporting.wholeness import find_nearest_split
from dlbench.runs import Run
from dlbench.runs.verdict import VERDICTS
from dlbench.scoring import HARNESS_ERROR, summarise

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
        mend = "give an address that others can reach, or say how the samples are made"
        raise DLBenchError("a folder of this machine helps nobody else", where=samples_from, mend=mend)
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
        mend = "change what was said of the run, or judge its samples again with `dlbench evaluate`"
        raise DLBenchError(f"this is no entry: {tell_invalid(error)}", where=str(run.folder), mend=mend) from None


def score_claims(claims: list[Claim], benchmark: Benchmark) -> Claimed:
    overall = summarise([as_record(one, benchmark.instances[one.instance]) for one in claims], benchmark, ()).overall
    return Claimed(
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
                f"the run says {key} {known[key]!r}, not {value!r}", where=str(run.folder), mend="leave it out"
            )
    settings = {**known, **told}
    if missing := [key for key in _NEEDED if key not in settings]:
        mend = f"say it: {' '.join(f'--{key} …' for key in missing)}"
        raise DLBenchError(f"the run does not say its {', '.join(missing)}", where=str(run.folder), mend=mend)
    return settings


def _refuse_unfit(run: Run, benchmark: Benchmark) -> None:
    version = str(run.config.get("benchmark", benchmark.version))
    if version != str(benchmark.version):
        mend = "judge its samples again with `dlbench evaluate`, on this version"
        raise DLBenchError(
            f"the run is on version {version}, this is {benchmark.version}", where=str(run.folder), mend=mend
        )
    faults = [record["instance"] for record in run.verdicts if record["status"] == HARNESS_ERROR]
    if faults:
        mend = "start the run's own command again, which tries them again"
        raise DLBenchError(
            f"{len(faults)} verdicts are harness errors, the first on {faults[0]}", where=str(run.folder), mend=mend
        )
    unnamed = next((record["instance"] for record in run.verdicts if not record["answer_sha256"]), None)
    if unnamed:
        mend = "judge its samples again with `dlbench evaluate`"
        raise DLBenchError(f"the verdict on {unnamed} does not say on which answer", where=str(run.folder), mend=mend)


def _find_split(run: Run, benchmark: Benchmark) -> str:
    """The split whose instances the run has, no more and no fewer."""
    judged = {record["instance"] for record in run.verdicts}
    name, members = find_nearest_split(judged, benchmark)
    if members == judged:
        return name
    lacking, more = sorted(members - judged), sorted(judged - members)
    what = f"the run has no whole split; of {name}, the nearest, it lacks {len(lacking)} and has {len(more)} too many"
    shown = ", ".join([*lacking, *more][:5])
    raise DLBenchError(f"{what} ({shown})", where=str(run.folder), mend="run `--split NAME` to its end")
