"""What do people say of failures?

A vote names a failure by run, instance and sample, a category, and who said it; JSONL or CSV, one a line. A misspelt
category, or a vote on what is no failure here, is refused by file and line: it would be missing from the count in
silence.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from dlbench.analysis.bugs.failures import Failure
from dlbench.analysis.bugs.planting.truth import check_category
from dlbench.construction.labelling.votes import read_rows
from dlbench.errors import DLBenchError

Votes = Mapping[str, str]
"""The category, by the failure's id."""

_KEYS = {"run", "instance", "sample", "category", "annotator", "note"}


def read_people(paths: Iterable[Path], failures: Iterable[Failure]) -> dict[str, Votes]:
    """By annotator. The last word of each on a failure counts; without `run`, there must be one run to speak of."""
    known = {(one.run, *one.key): one.id for one in failures}
    runs = {run for run, _, _ in known}
    samples: dict[tuple[str, str], list[int]] = {}
    for run, instance, sample in known:
        samples.setdefault((run, instance), []).append(sample)
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        for row, annotator, where in read_rows(path):
            strange = sorted(set(row) - _KEYS)
            if strange:
                mend = f"use {', '.join(sorted(_KEYS))}"
                raise DLBenchError(f"unknown: {', '.join(map(str, strange))}", where=where, mend=mend)
            if missing := [key for key in ("instance", "category") if not row.get(key)]:
                mend = "each vote names at least an instance and a category"
                raise DLBenchError(f"there is no {', '.join(missing)}", where=where, mend=mend)
            run = row.get("run") or (next(iter(runs)) if len(runs) == 1 else "")
            numbers, given = samples.get((str(run), str(row["instance"])), [0]), row.get("sample")
            if given in (None, "") and len(numbers) > 1:
                what = f"there is no sample, and {len(numbers)} of {row['instance']} failed"
                raise DLBenchError(what, where=where, mend="give `sample`, the number of the one that is meant")
            try:
                key = str(run), str(row["instance"]), int(numbers[0] if given in (None, "") else given)
            except (TypeError, ValueError):
                raise DLBenchError("`sample` is no number", where=where, mend="give 0, 1, 2, …") from None
            if key not in known:
                what = f"no failure: {key[1]}, sample {key[2]}" + (f" of {key[0]}" if key[0] else ", of an unnamed run")
                raise DLBenchError(what, where=where, mend="name run, instance and sample as the list of failures does")
            found.setdefault(str(annotator), {})[known[key]] = check_category(row.get("category"), where)
    return found  # type: ignore[return-value]
