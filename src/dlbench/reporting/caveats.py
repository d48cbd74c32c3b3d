"""Caveats to read before the numbers: harness errors, missing, cut-off or empty answers, runs that do not compare.

They start in capitals and appear wherever scores are shown; without them a score made by a limit, a server's set-up or
half a run is read as the model's. Two causes need more than the verdicts. A prompt that does not fit, a content filter
or a wrong reasoning parser gives empty answers; the endpoint's finish reason is stored with each sample. And a file of
answers says nothing of those it lacks: ignored, a pipeline that drops empty answers would raise its model's score.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from dlbench.dataset import Benchmark, Selection, name_live, select
from dlbench.jsonl import read_lines
from dlbench.reporting.formatting import percent
from dlbench.reporting.run_names import comparability_caveats, find_unjudged
from dlbench.runs import SAMPLES, Run
from dlbench.scoring import Summary

_SUSPECT = re.compile(rb'"(?:context_length|content_filter)"|"answer": ?""')
"""Most runs match nothing and need no parsing."""
_MANY_EMPTY = 0.05
"""Fewer are a model that lost its thread; a wrong server set-up gives more."""
_MANY_CUT = 0.05
"""Fewer could not have moved pass@1 by more than about five points."""


def collect_caveats(runs: Mapping[str, Run], summaries: Mapping[str, Summary], benchmark: Benchmark) -> list[str]:
    found = [harness_error_caveat(name, summary) for name, summary in summaries.items()]
    found += comparability_caveats(runs, benchmark)
    for name, run in runs.items():
        found += run_caveats(name, run, benchmark)
    return [text for text in found if text]


def run_caveats(name: str, run: Run, benchmark: Benchmark) -> list[str]:
    """Of one run, independent of the runs beside it."""
    found = [*coverage_caveats(name, run, benchmark), _cut_caveat(name, run, benchmark)]
    found += empty_answer_caveats(name, run)
    if missing := find_unjudged(run):
        found.append(f"NOT FINISHED: {missing} samples of {name} have no verdict yet and are not counted.")
    return [text for text in found if text]


def harness_error_caveat(name: str, summary: Summary) -> str:
    """How harness errors affect a score; empty without any."""
    overall = summary.overall
    if not overall.harness_errors:
        return ""
    return (
        f"HARNESS ERRORS: {overall.harness_errors} of {overall.samples} verdicts of {name} are faults of the harness,"
        f" not of the model. They count as failures: pass@1 is {percent(overall.pass_at_1)}, and would be"
        f" {percent(summary.if_faults_passed)} if all of them had passed."
    )


def _cut_caveat(name: str, run: Run, benchmark: Benchmark) -> str:
    known = [record for record in run.verdicts if record["instance"] in benchmark.instances]
    cut = sum(record.get("truncated") is True for record in known)
    if cut <= _MANY_CUT * len(known):
        return ""
    most = run.config.get("max_tokens")
    # `evaluate` judges answers whose limit it does not know
    limit = f"with --max-tokens {most}" if isinstance(most, int) else "with an unknown limit"
    return (
        f"CUT OFF: {percent(cut / len(known))} of the answers of {name} ({cut} of {len(known)}) are incomplete,"
        f" {limit}. The score holds for that limit; a higher --max-tokens may change it."
    )


def empty_answer_caveats(name: str, run: Run) -> list[str]:
    path = run.folder / SAMPLES
    if not path.is_file() or not _SUSPECT.search(path.read_bytes()):
        return []
    causes = [_find_cause(record) for _, record in read_lines(path)]
    counts, found = Counter(causes), []
    if refused := counts["context_length"]:
        found.append(
            f"TOO LONG FOR THE MODEL: {refused} of the answers of {name} are empty because the request exceeds the"
            " model's context. They count as failures; a lower --prompt-tokens shortens prompts."
        )
    if withheld := counts["content_filter"]:
        found.append(
            f"WITHHELD: a content filter of the endpoint removed {withheld} of the answers of {name}, in whole or in"
            " part. They are judged as received; what is missing counts against the model."
        )
    if (thought := counts["thought"]) > _MANY_EMPTY * len(causes):
        found.append(
            f"ONLY THOUGHTS: {thought} of the {len(causes)} answers of {name} are empty, although the model reasoned"
            " and stopped by itself (`reasoning` in samples.jsonl). They count as failures. A server with the wrong"
            " reasoning parser takes answers for reasoning: check some of them."
        )
    return found


def _find_cause(record: dict[str, Any]) -> str | None:
    reason = record.get("finish_reason")
    if reason in ("context_length", "content_filter"):
        return str(reason)
    is_thought = record.get("answer") == "" and record.get("reasoning") and reason in ("stop", "", None)
    return "thought" if is_thought else None


def find_nearest_split(judged: set[str], benchmark: Benchmark) -> tuple[str, set[str]]:
    """The split that differs least from these instances, and its instances."""
    days = [benchmark.instances[one].introduced for one in judged if one in benchmark.instances]
    names = dict.fromkeys(["full", *benchmark.splits, *([name_live(min(days))] if days else [])])
    members = {name: {one.id for one in select(benchmark, Selection(split=name))} for name in names}
    name = min(members, key=lambda name: len(members[name] ^ judged))
    return name, members[name]


def coverage_caveats(name: str, run: Run, benchmark: Benchmark) -> list[str]:
    """What a run lacks of the split nearest to it, where its configuration does not list its instances."""
    if not run.verdicts or isinstance(run.config.get("instances"), list):
        return []
    counts = Counter(str(record["instance"]) for record in run.verdicts)
    split, members = find_nearest_split(set(counts), benchmark)
    found = []
    if missing := members - set(counts):
        found.append(
            f"NOT A WHOLE SPLIT: {name} has no answer to {len(missing)} of the {len(members)} instances of {split}, the"
            " nearest split. They are not counted, neither as failures nor otherwise."
        )
    fewest, most = min(counts.values()), max(counts.values())
    if fewest < most:
        found.append(
            f"NOT AS MANY SAMPLES OF EACH: {name} has {fewest} to {most} per instance. Each instance counts the same."
        )
    return found
