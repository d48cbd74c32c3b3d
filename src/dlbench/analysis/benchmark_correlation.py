"""Compare benchmarks by the scores of the same models.

A table that seems to mix shares and percents is rejected, since values would differ by a factor of 100; a value with %
is a percent, however small.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from dlbench.errors import DLBenchError
from dlbench.scoring import BenchmarkComparison, compare_benchmarks

Scores = dict[str, dict[str, float]]
"""By benchmark and model, from 0 to 1."""

_FIX = "write a CSV file: header `model,benchmark,other benchmark`, then one model per line; leave unknown scores empty"


@dataclass(frozen=True)
class BenchmarkRank:
    """`here` against `there`: Cohen's d is positive if scores are higher there."""

    here: str
    there: str
    against: BenchmarkComparison


def compare_all(scores: Mapping[str, Mapping[str, float]]) -> list[BenchmarkRank]:
    """Every pair of benchmarks, in the order of the columns."""
    found = []
    for here, there in combinations(scores, 2):
        both = [model for model in scores[here] if model in scores[there]]
        against = compare_benchmarks([scores[here][model] for model in both], [scores[there][model] for model in both])
        found.append(BenchmarkRank(here, there, against))
    return found


def read_scores(path: Path) -> Scores:
    try:
        with path.open(encoding="utf-8-sig") as file:
            rows = [(number, row) for number, row in enumerate(csv.reader(file, strict=True), 1) if any(row)]
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
    except UnicodeDecodeError:
        raise DLBenchError("not UTF-8", where=str(path), fix="save the table as UTF-8") from None
    except csv.Error as error:
        raise DLBenchError(f"not CSV: {error}", where=str(path), fix=_FIX) from None
    heading = [name.strip() for name in rows[0][1]] if rows else []
    if len(heading) < 3 or not all(heading[1:]) or len(set(heading)) < len(heading):
        what = "it needs a column of models and at least two columns of scores, with distinct names"
        raise DLBenchError(what, where=str(path), fix=_FIX)
    scores: Scores = {name: {} for name in heading[1:]}
    marked: dict[str, set[str]] = {name: set() for name in heading[1:]}
    models: set[str] = set()
    for number, row in rows[1:]:
        where = f"{path}, row {number}"
        if len(row) != len(heading):
            raise DLBenchError(f"{len(row)} cells, but {len(heading)} columns", where=where, fix=_FIX)
        model = row[0].strip()
        if not model or model in models:
            what = f"the model {model!r} occurs twice" if model else "the model has no name"
            raise DLBenchError(what, where=where, fix=_FIX)
        models.add(model)
        for name, cell in zip(heading[1:], row[1:], strict=True):
            if cell.strip():
                scores[name][model] = _read_number(cell, name, where)
                marked[name] |= {model} if cell.strip().endswith("%") else set()
    return _scale(scores, marked, path)


def _read_number(cell: str, name: str, where: str) -> float:
    try:
        value = float(cell.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise DLBenchError(f"{name}: {cell!r} is not a score from 0 to 100", where=where, fix=_FIX)
    return value


def _scale(scores: Scores, marked: Mapping[str, set[str]], path: Path) -> Scores:
    """`marked`: by benchmark, the models whose score has a %."""
    bare = {
        name: max((score for model, score in found.items() if model not in marked[name]), default=0.0)
        for name, found in scores.items()
    }
    if not any(scores.values()):
        raise DLBenchError("the table has no scores", where=str(path), fix=_FIX)
    in_percent = [name for name, most in bare.items() if most > 1 or marked[name]]
    small = [name for name, most in bare.items() if 0 < most <= 1]
    if in_percent and small:
        other = "also percents" if marked[small[0]] else f"{in_percent[0]} percents"
        what = f"{small[0]} seems to contain shares from 0 to 1, and {other}"
        fix = "write all scores as shares or all as percents; mark percents of 1 or less with % (0.4 %)"
        raise DLBenchError(what, where=str(path), fix=fix)
    scale = 100 if in_percent else 1
    return {name: {model: score / scale for model, score in found.items()} for name, found in scores.items()}
