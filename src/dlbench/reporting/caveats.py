"""Name runs uniquely, find repeats and copies among them, and list the caveats to read before the numbers.

Without them a score made by a limit, a server's set-up or half a run is read as the model's. A file of answers says
nothing of those it lacks: ignored, a pipeline that drops empty answers would raise its model's score.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from dlbench.dataset import Selection, name_live, select
from dlbench.dataset.labels import Track
from dlbench.dataset.tracks import TrackBenchmark, has_functions
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines
from dlbench.registry import find_known
from dlbench.reporting.tables import percent
from dlbench.runs import NOTES, SAMPLES, Run
from dlbench.scoring import Spread, Summary, spread, spread_of_samples
from dlbench.scoring.tally import group_by

_OWN = {"seed", "dlbench", "workers", *NOTES}
"""Settings in which a repeat may differ from the run that it repeats."""
_FORMS: tuple[Callable[[Run], str], ...] = (
    lambda run: run.name,
    lambda run: f"{run.name}, {run.config['technique']}" if "technique" in run.config else run.name,
    lambda run: f"{run.name} ({run.folder.name})",
)


def name_runs(runs: Sequence[Run]) -> dict[str, Run]:
    """By model; with the technique or the folder where one of two runs would hide the other."""
    folders = [run.folder.resolve() for run in runs]
    for place, run in enumerate(runs):
        if folders[place] in folders[:place]:
            raise DLBenchError("the run is given twice", where=str(run.folder), fix="name each run once")
    counted = {form: Counter(map(form, runs)) for form in _FORMS}
    named: dict[str, Run] = {}
    for run in runs:
        unique = (form(run) for form, counts in counted.items() if counts[form(run)] == 1 and form(run) not in named)
        named[next(unique, f"{run.name} ({run.folder})")] = run
    return named


def hash_answers(run: Run) -> str:
    """Of all answers of a run, in any order of judging; empty where some are unknown."""
    answers = sorted((one["instance"], one["sample"], one.get("answer_sha256") or "") for one in run.verdicts)
    known = answers and all(answer for _, _, answer in answers)
    return hashlib.sha256(repr(answers).encode()).hexdigest() if known else ""


def group_alike(marks: Mapping[str, str]) -> list[list[str]]:
    """Groups of two or more names with the same mark, such as `hash_answers` gives; an empty mark forms none."""
    alike = group_by(marks, lambda name: marks[name])
    return [names for mark, names in alike.items() if mark and len(names) > 1]


def find_copies(named: Mapping[str, Run]) -> list[list[str]]:
    """Groups of runs with the same answers throughout: the same seed again, or a deterministic model."""
    return group_alike({name: hash_answers(run) for name, run in named.items()})


def repeats_itself(run: Run) -> bool:
    """Some instances have several samples, and all samples of each instance are equal."""
    several = [each for each in group_by(run.verdicts, itemgetter("instance")).values() if len(each) > 1]
    answers = [{record.get("answer_sha256") or "" for record in each} for each in several]
    return bool(answers) and all("" not in each and len(each) == 1 for each in answers)


def find_repeats(named: Mapping[str, Run]) -> list[list[str]]:
    """Groups of runs with the same settings but for the seed. A copy is no repeat: nothing varies between them."""
    copies = {name for names in find_copies(named) for name in names[1:]}
    # `evaluate` knows nothing of the model but the name of a file, and writes no seed
    settings = {
        name: repr(sorted((key, value) for key, value in run.config.items() if key not in _OWN))
        for name, run in named.items()
        if name not in copies and "seed" in run.config
    }
    return group_alike(settings)


def find_spreads(named: Mapping[str, Run], summaries: Mapping[str, Summary]) -> dict[str, Spread]:
    """Run-to-run variance of pass@1: between repeats, and between the samples of a run that has several."""
    found = {
        "; ".join(names): spread([summaries[name].overall.pass_at_1 for name in names]) for names in find_repeats(named)
    }
    for name, run in named.items():
        between = spread_of_samples(run.verdicts)
        if between.runs > 1 and not repeats_itself(run):
            found[f"the samples of {name}"] = between
    return found


def find_track(runs: Iterable[Run]) -> Track:
    """The track of all runs; functions where a configuration names none."""
    tracks = {str(run.config.get("track", Track.FUNCTION)): run for run in runs}
    if len(tracks) > 1:
        listed = ", ".join(f"{run.folder.name} on {track}" for track, run in tracks.items())
        what = f"scores of different tracks are not mixed: {listed}"
        raise DLBenchError(what, fix="pass the runs of one track at a time")
    return find_known(next(iter(tracks)), {str(track): track for track in Track}, "track")


def check_comparable(runs: Sequence[Run]) -> None:
    """Scores on benchmarks of different comparability measure different things."""
    versions = {str(run.config["benchmark"]): run for run in runs if "benchmark" in run.config}
    if len({version.partition(".")[0] for version in versions}) > 1:
        listed = ", ".join(f"{run.folder.name} on {version}" for version, run in versions.items())
        fix = "judge the samples of the older run again with `dlbench evaluate`, on the newer benchmark"
        raise DLBenchError(f"the runs are on benchmark versions that cannot be compared: {listed}", fix=fix)


def comparability_caveats(named: Mapping[str, Run], benchmark: TrackBenchmark) -> Iterator[str]:
    """Why scores side by side measure different things."""
    for name, run in named.items():
        version = str(run.config.get("benchmark", benchmark.version))
        if version.partition(".")[0] != str(benchmark.version.comparability):
            yield (
                f"ANOTHER VERSION: {name} was judged on benchmark {version}, this is {benchmark.version}. Its score"
                " cannot be compared."
            )
    judged = [{record["instance"] for record in run.verdicts} for run in named.values()]
    shared = set.intersection(*judged) if judged else set()
    if any(each != shared for each in judged):
        counts = ", ".join(f"{name} {len(each)}" for name, each in zip(named, judged, strict=True))
        yield f"NOT THE SAME INSTANCES: {counts}; {len(shared)} are in every run. `dlbench compare` compares on those."
    yield from map(copies_caveat, find_copies(named))
    for name, run in named.items():
        if repeats_itself(run):
            yield (
                f"THE SAME ANSWER EACH TIME: all samples of an instance are equal in {name}, as at temperature 0."
                " pass@k equals pass@1, and no variance between samples is shown."
            )


def copies_caveat(names: Sequence[str]) -> str:
    return f"THE SAME ANSWERS: {', '.join(names)} have the same answers throughout. They are one run, not repeats."


def find_unjudged(run: Run) -> int:
    """How many samples of the run's configuration have no verdict yet."""
    instances, samples = run.config.get("instances"), run.config.get("samples", 1)
    if not isinstance(instances, list) or not isinstance(samples, int):
        return 0
    expected = {(instance, sample) for instance in instances for sample in range(samples)}
    return len(expected - {(record["instance"], record["sample"]) for record in run.verdicts})


_SUSPECT = re.compile(rb'"(?:context_length|content_filter)"|"answer": ?""')
"""Most runs match nothing and need no parsing."""
_MANY = 0.05
"""Fewer answers cut off move pass@1 by at most about five points; a wrong server set-up makes more answers empty."""


def collect_caveats(runs: Mapping[str, Run], summaries: Mapping[str, Summary], benchmark: TrackBenchmark) -> list[str]:
    found = [caveat for name, summary in summaries.items() for caveat in _harness_error_caveats(name, summary)]
    found += comparability_caveats(runs, benchmark)
    return found + [caveat for name, run in runs.items() for caveat in run_caveats(name, run, benchmark)]


def run_caveats(name: str, run: Run, benchmark: TrackBenchmark) -> list[str]:
    """Of one run, independent of the runs beside it."""
    found = [*coverage_caveats(name, run, benchmark), *_cut_caveats(name, run, benchmark), *_empty_caveats(name, run)]
    if missing := find_unjudged(run):
        found.append(f"NOT FINISHED: {missing} samples of {name} have no verdict yet and are not counted.")
    if leaks := sum(bool(record.get("leaks")) for record in run.verdicts):
        found.append(
            f"LEAKS: in {leaks} of {len(run.verdicts)} attempts of {name} the agent tried to reach more than the task"
            " shows (`leaks` in verdicts.jsonl). They count like all others; check them."
        )
    return found


def _harness_error_caveats(name: str, summary: Summary) -> Iterator[str]:
    overall = summary.overall
    if overall.harness_errors:
        yield (
            f"HARNESS ERRORS: {overall.harness_errors} of {overall.samples} verdicts of {name} are faults of the"
            f" harness, not of the model. They count as failures: pass@1 is {percent(overall.pass_at_1)}, and would be"
            f" {percent(summary.if_faults_passed)} if all of them had passed."
        )


def _cut_caveats(name: str, run: Run, benchmark: TrackBenchmark) -> Iterator[str]:
    known = [record for record in run.verdicts if record["instance"] in benchmark.instances]
    cut = sum(record.get("truncated") is True for record in known)
    if cut > _MANY * len(known):
        most = run.config.get("max_tokens")
        # `evaluate` judges answers whose limit it does not know
        limit = f"with --max-tokens {most}" if isinstance(most, int) else "with an unknown limit"
        yield (
            f"CUT OFF: {percent(cut / len(known))} of the answers of {name} ({cut} of {len(known)}) are incomplete,"
            f" {limit}. The score holds for that limit; a higher --max-tokens may change it."
        )


def _empty_caveats(name: str, run: Run) -> Iterator[str]:
    path = run.folder / SAMPLES
    if not path.is_file() or not _SUSPECT.search(path.read_bytes()):
        return
    counts = Counter(_find_cause(record) for _, record in read_lines(path))
    if refused := counts["context_length"]:
        yield (
            f"TOO LONG FOR THE MODEL: {refused} of the answers of {name} are empty because the request exceeds the"
            " model's context. They count as failures; a lower --prompt-tokens shortens prompts."
        )
    if withheld := counts["content_filter"]:
        yield (
            f"WITHHELD: a content filter of the endpoint removed {withheld} of the answers of {name}, in whole or in"
            " part. They are judged as received; what is missing counts against the model."
        )
    if (thought := counts["thought"]) > _MANY * counts.total():
        yield (
            f"ONLY REASONING: {thought} of the {counts.total()} answers of {name} are empty, although the model"
            " reasoned and stopped by itself (`reasoning` in samples.jsonl). They count as failures. A server with the"
            " wrong reasoning parser takes answers for reasoning: check some of them."
        )


def _find_cause(record: dict[str, Any]) -> str | None:
    reason = record.get("finish_reason")
    if reason in ("context_length", "content_filter"):
        return str(reason)
    is_thought = record.get("answer") == "" and record.get("reasoning") and reason in ("stop", "", None)
    return "thought" if is_thought else None


def find_nearest_split(judged: set[str], benchmark: TrackBenchmark) -> tuple[str, set[str]]:
    """The split that differs least from these instances, and its instances."""
    if not has_functions(benchmark):
        return "full", set(benchmark.instances)
    days = [benchmark.instances[one].introduced for one in judged if one in benchmark.instances]
    names = dict.fromkeys(["full", *benchmark.splits, *([name_live(min(days))] if days else [])])
    members = {name: {one.id for one in select(benchmark, Selection(split=name))} for name in names}
    name = min(members, key=lambda name: len(members[name] ^ judged))
    return name, members[name]


def coverage_caveats(name: str, run: Run, benchmark: TrackBenchmark) -> Iterator[str]:
    """What a run lacks of its split, or of the nearest one where its configuration does not list its instances."""
    asked, split = run.config.get("instances"), run.config.get("split")
    if isinstance(asked, list):
        members: set[str] = set()
        if has_functions(benchmark) and split in benchmark.splits:
            members = {one.id for one in select(benchmark, Selection(split=str(split)))}
        if left := members - set(asked):
            yield f"PART OF A SPLIT: {name} has {len(members) - len(left)} of the {len(members)} instances of {split}."
        return
    if not run.verdicts:
        return
    counts = Counter(str(record["instance"]) for record in run.verdicts)
    split, members = find_nearest_split(set(counts), benchmark)
    if missing := members - set(counts):
        yield (
            f"NOT A WHOLE SPLIT: {name} has no answer to {len(missing)} of the {len(members)} instances of {split}, the"
            " nearest split. They are not counted, neither as failures nor otherwise."
        )
    fewest, most = min(counts.values()), max(counts.values())
    if fewest < most:
        yield f"NOT AS MANY SAMPLES OF EACH: {name} has {fewest} to {most} per instance. Each instance counts the same."
