"""Caveats to read before the numbers: harness errors, missing, cut-off or empty answers, runs that do not compare.

Without them a score made by a limit, a server's set-up or half a run is read as the model's. A file of answers says
nothing of those it lacks: ignored, a pipeline that drops empty answers would raise its model's score.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dlbench.dataset import Selection, name_live, select
from dlbench.dataset.rebuild import TrackBenchmark, has_functions
from dlbench.jsonl import read_lines
from dlbench.reporting.formatting import percent
from dlbench.reporting.run_names import comparability_caveats, find_unjudged
from dlbench.runs import SAMPLES, Run
from dlbench.scoring import Summary

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
            f"ONLY THOUGHTS: {thought} of the {counts.total()} answers of {name} are empty, although the model reasoned"
            " and stopped by itself (`reasoning` in samples.jsonl). They count as failures. A server with the wrong"
            " reasoning parser takes answers for reasoning: check some of them."
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
