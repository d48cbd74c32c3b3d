"""What must a reader know before the numbers?

That some of them are our own fault, that answers were lost or cut off, that two runs are one: told in capitals wherever
scores are shown. Without it the score of a limit, or of half a run, is read as the model's.

Which answers are missing, whole or in part, for a reason that is not what the model knows?

A prompt that does not fit, a content filter, a server that takes answers for thoughts: each gives empty answers, and a
score of 0 that looks like the model's. What the endpoint said of each answer still stands beside it.

Does a run hold all that a score should be over, or only what somebody kept?

A file of answers says nothing of those that are not in it. Were they passed over in silence, a pipeline that drops
empty answers would raise its model's score with every one.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from dlbench.dataset import Benchmark, Selection, name_live, select
from dlbench.jsonl import read_lines
from dlbench.reporting.formatting import harness_error_caveat, percent
from dlbench.reporting.run_names import comparability_caveats, find_unjudged
from dlbench.runs import SAMPLES, Run
from dlbench.scoring import Summary

# Most runs have none, and are not parsed to find that out.
_PERHAPS = re.compile(rb'"(?:context_length|content_filter)"|"answer": ?""')
# Fewer are a model that lost its thread; a server that is set up wrongly gives more.
_MANY = 0.05


def empty_answer_caveats(name: str, run: Run) -> list[str]:
    path = run.folder / SAMPLES
    if not path.is_file() or not _PERHAPS.search(path.read_bytes()):
        return []
    causes = [_find_cause(record) for _, record in read_lines(path)]
    counts, told = Counter(causes), []
    if refused := counts["context_length"]:
        told.append(
            f"TOO LONG FOR THE MODEL: {refused} of the answers of {name} are empty because the request did not fit"
            " into the model's context. They count as not passed; a lower --prompt-tokens makes prompts shorter."
        )
    if withheld := counts["content_filter"]:
        told.append(
            f"WITHHELD: {withheld} of the answers of {name} were kept back, whole or in part, by a content filter of"
            " the endpoint. They are judged as they came; what is missing counts against the model."
        )
    if (thought := counts["thought"]) > _MANY * len(causes):
        told.append(
            f"ONLY THOUGHTS: {thought} of the {len(causes)} answers of {name} are empty, though the model thought and"
            " ended by itself (`reasoning` in samples.jsonl). They count as not passed. A server whose reasoning parser"
            " is not the model's takes answers for thoughts: look into some of them."
        )
    return told


def _find_cause(record: dict[str, Any]) -> str | None:
    reason = record.get("finish_reason")
    if reason in ("context_length", "content_filter"):
        return str(reason)
    is_thought = record.get("answer") == "" and record.get("reasoning") and reason in ("stop", "", None)
    return "thought" if is_thought else None


def find_nearest_split(judged: set[str], benchmark: Benchmark) -> tuple[str, set[str]]:
    """The split whose instances are nearest to these, and its instances."""
    days = [benchmark.instances[one].introduced for one in judged if one in benchmark.instances]
    names = dict.fromkeys(["full", *benchmark.splits, *([name_live(min(days))] if days else [])])
    members = {name: {one.id for one in select(benchmark, Selection(split=name))} for name in names}
    name = min(members, key=lambda name: len(members[name] ^ judged))
    return name, members[name]


def coverage_caveats(name: str, run: Run, benchmark: Benchmark) -> list[str]:
    """What a run that does not say what it was to ask lacks of the split it seems to be about."""
    if not run.verdicts or isinstance(run.config.get("instances"), list):
        return []
    counts = Counter(str(record["instance"]) for record in run.verdicts)
    split, members = find_nearest_split(set(counts), benchmark)
    told = []
    if lacking := members - set(counts):
        told.append(
            f"NOT A WHOLE SPLIT: {name} has no answer to {len(lacking)} of the {len(members)} instances of {split}, the"
            " split nearest to it. They are not counted, as failed or otherwise."
        )
    fewest, most = min(counts.values()), max(counts.values())
    if fewest < most:
        told.append(
            f"NOT AS MANY SAMPLES OF EACH: {name} has {fewest} to {most} an instance. Each instance counts the same."
        )
    return told


# Fewer could not have moved pass@1 by more than about five points, had they all passed.
_MANY_CUT = 0.05


def collect_caveats(runs: Mapping[str, Run], summaries: Mapping[str, Summary], benchmark: Benchmark) -> list[str]:
    told = [harness_error_caveat(name, summary) for name, summary in summaries.items()] + comparability_caveats(
        runs, benchmark
    )
    for name, run in runs.items():
        told += run_caveats(name, run, benchmark)
    return [text for text in told if text]


def run_caveats(name: str, run: Run, benchmark: Benchmark) -> list[str]:
    """Of one run, whatever stands beside it."""
    told = [*coverage_caveats(name, run, benchmark), _tell_cut(name, run, benchmark), *empty_answer_caveats(name, run)]
    if missing := find_unjudged(run):
        told.append(f"NOT FINISHED: {missing} of the samples asked for in {name} have no verdict and are not counted.")
    return [text for text in told if text]


def _tell_cut(name: str, run: Run, benchmark: Benchmark) -> str:
    """That the limit on an answer's length may have made the score, or nothing where few answers stop in the middle."""
    known = [record for record in run.verdicts if record["instance"] in benchmark.instances]
    cut = sum(record.get("truncated") is True for record in known)
    if cut <= _MANY_CUT * len(known):
        return ""
    most = run.config.get("max_tokens")
    # `evaluate` judges answers of which nobody said how long they might be.
    limit = f"asked with --max-tokens {most}" if isinstance(most, int) else "with a limit not known here"
    return (
        f"CUT OFF: {percent(cut / len(known))} of the answers of {name} ({cut} of {len(known)}) stop in the middle,"
        f" {limit}. The score is the model's under that limit; a higher --max-tokens may give another."
    )
