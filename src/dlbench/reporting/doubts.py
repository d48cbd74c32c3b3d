"""What must a reader know before the numbers?

That some of them are our own fault, that answers were lost or cut off, that two runs are one: told in capitals wherever
scores are shown. Without it the score of a limit, or of half a run, is read as the model's.
"""

from collections.abc import Mapping

from dlbench.dataset import Benchmark
from dlbench.reporting.figures import percent, tell_faults
from dlbench.reporting.sides import find_unjudged, tell_apart
from dlbench.reporting.silences import tell_silences
from dlbench.reporting.wholeness import tell_partial
from dlbench.runs import Run
from dlbench.scoring import Summary

# Fewer could not have moved pass@1 by more than about five points, had they all passed.
_MANY_CUT = 0.05


def tell_warnings(runs: Mapping[str, Run], summaries: Mapping[str, Summary], benchmark: Benchmark) -> list[str]:
    told = [tell_faults(name, summary) for name, summary in summaries.items()] + tell_apart(runs, benchmark)
    for name, run in runs.items():
        told += tell_doubts(name, run, benchmark)
    return [text for text in told if text]


def tell_doubts(name: str, run: Run, benchmark: Benchmark) -> list[str]:
    """Of one run, whatever stands beside it."""
    told = [*tell_partial(name, run, benchmark), _tell_cut(name, run, benchmark), *tell_silences(name, run)]
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
