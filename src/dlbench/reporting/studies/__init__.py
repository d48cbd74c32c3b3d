"""Tables and plots of the studies: complexity, relevance, benchmarks, robustness, divergence, stage classifier."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from dlbench.analysis import complexity as complexities
from dlbench.analysis import relevance as relevances
from dlbench.analysis.classifier import Evaluation, Figure
from dlbench.analysis.complexity import Complexity, Figures
from dlbench.analysis.corpora import Corpus
from dlbench.analysis.divergence import Distance, SharedRun
from dlbench.analysis.labelled_prompts import AXES
from dlbench.analysis.rankings import BenchmarkRank, PartRanking, Robustness, Scores
from dlbench.analysis.relevance import Relevance
from dlbench.reporting.charts import stand_alone
from dlbench.reporting.charts.heatmap import draw_shares, name_figure
from dlbench.reporting.charts.points import draw_plane
from dlbench.reporting.tables import Columns, Tabled, list_some, number, p_value, percent, points, span, tabulate
from dlbench.scoring.intervals import Floats

Plots = dict[str, str]
"""SVG files by name, without the suffix."""
Predictions = Mapping[str, Mapping[str, str]]
"""By id, the label on each axis."""
Item = TypeVar("Item")

MOST_PAIRS = 50
_SHOWN = 3
_RUNS = 5
_MARKS = 400
"""Most marks per dataset in a plot; of more, every n-th is drawn."""


def tabulate_complexity(found: Sequence[Complexity]) -> Tabled:
    return tabulate([(name, one) for name in complexities.MEASURES for one in found], {
        "measure": lambda one: one[0],
        "dataset": lambda one: one[1].name,
        **_columns(lambda one: one[1].figures[one[0]], ".2f", ".0f"),
    })  # fmt: skip


def describe_complexity(found: Sequence[Complexity]) -> list[str]:
    """What is not in the table, by dataset."""
    lines = []
    for one in found:
        if one.without_code:
            lines.append(f"{one.name}: {one.without_code} of {one.items} references are not available and not counted")
        if one.unparsed:
            names = list_some(one.unparsed, _SHOWN)
            lines.append(f"{one.name}: {len(one.unparsed)} references do not parse and are not counted ({names})")
    return lines


def draw_complexity(found: Sequence[Complexity]) -> Plots:
    drawn = {}
    for name, ends in complexities.BINS.items():
        bins = [str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in pairwise(ends)]
        rows = {one.name: one.bins[name] for one in found}
        drawn[f"complexity-{name}"] = _draw_bins(f"{name.capitalize()}: % of references", rows, [*bins, f"{ends[-1]}+"])
    return drawn


def tabulate_relevance(found: Sequence[Relevance]) -> Tabled:
    return tabulate(found, {
        "dataset": lambda one: one.name,
        "text": lambda one: one.text,
        **_columns(lambda one: one.figures, ".3f", ".3f"),
        "mean by occurrence": lambda one: number(one.by_occurrence.mean, ".3f"),
    })  # fmt: skip


def tabulate_categories(found: Sequence[Relevance]) -> Tabled:
    rows = [[one.name, one.text, *map(percent, one.categories.values())] for one in found]
    return ["dataset", "text", *relevances.CATEGORIES], rows


def draw_relevance(found: Sequence[Relevance]) -> Plots:
    rows = {f"{one.name}, {one.text}": one for one in found}
    bins = [f"{100 * low:.0f}" for low in relevances.BINS]
    kinds = {(row, name): share for row, one in rows.items() for name, share in one.categories.items()}
    shares = {row: one.bins for row, one in rows.items()}
    return {
        "relevance": _draw_bins("DL-relevance from … %: % of texts", shares, bins),
        "relevance-kinds": draw_shares("% of words by kind of keyword", [*rows], relevances.CATEGORIES, kinds),
    }


def describe_missing(corpora: Sequence[Corpus]) -> list[str]:
    missing = {corpus.name: len(corpus.items) - len(corpus.with_code) for corpus in corpora}
    return [f"{name}: {count} references are not available and not counted" for name, count in missing.items() if count]


def tabulate_benchmarks(found: Sequence[BenchmarkRank]) -> Tabled:
    return tabulate(found, {
        "here": lambda one: one.here,
        "there": lambda one: one.there,
        "models": lambda one: one.against.models,
        "mean here": lambda one: percent(one.against.mean_here),
        "mean there": lambda one: percent(one.against.mean_there),
        "Cohen's d": lambda one: number(one.against.cohen_d),
        "Fisher": lambda one: number(one.against.fisher_ratio),
        "Spearman": lambda one: f"{number(one.against.spearman)} (p {p_value(one.against.spearman_p)})",
        "Kendall": lambda one: f"{number(one.against.kendall)} (p {p_value(one.against.kendall_p)})",
    })  # fmt: skip


def draw_benchmarks(scores: Scores) -> Plots:
    models = list(dict.fromkeys(model for found in scores.values() for model in found))
    shares = {(model, name): score for name, found in scores.items() for model, score in found.items()}
    return {"statistics": draw_shares("Scores in %", models, list(scores), shares)}


def tabulate_order(found: Robustness) -> Tabled:
    return ["run", "pass@1"], [[name, percent(score)] for name, score in found.order]


def tabulate_pairs(found: Robustness) -> Tabled:
    """Of many pairs, those with the least certain order; ties last, since they have none."""
    unsure = sorted(found.pairs, key=lambda one: (math.isnan(one.kept), one.kept))[:MOST_PAIRS]
    return tabulate(found.pairs if len(found.pairs) <= MOST_PAIRS else unsure, {
        "run": lambda one: one.a,
        "above": lambda one: one.b,
        "by": lambda one: points(one.difference),
        "order kept": lambda one: percent(one.kept),
        "tied": lambda one: percent(one.tied),
        "reversed": lambda one: percent(one.reversed),
        "kept, projects resampled": lambda one: percent(one.kept_by_project),
    })  # fmt: skip


def tabulate_resampled(found: Robustness) -> Tabled:
    return tabulate(found.resampled, {
        "resampled": lambda one: one.drawn,
        "Kendall's tau": lambda one: number(one.mean),
        "95 %": lambda one: f"{number(one.interval.low)} to {number(one.interval.high)}",
        "whole order kept": lambda one: percent(one.same_order),
        "best stays best": lambda one: percent(one.same_best),
    })  # fmt: skip


def tabulate_parts(found: Sequence[PartRanking]) -> Tabled:
    def reversals(one: PartRanking) -> str:
        more = f"; and {len(one.reversed) - _SHOWN} more" if len(one.reversed) > _SHOWN else ""
        return "; ".join(f"{b} above {a}" for a, b in one.reversed[:_SHOWN]) + more

    return tabulate(found, {
        "axis": lambda one: one.axis,
        "label": lambda one: one.label,
        "instances": lambda one: f"{one.instances} of {one.of}" if one.instances != one.of else one.instances,
        "Kendall's tau": lambda one: number(one.tau),
        "reversed pairs": reversals,
    })  # fmt: skip


def draw_robustness(found: Robustness) -> Plots:
    """A row above a column: the share of resamples in which it stays above."""
    names = [name for name, _ in found.order]
    shares = {(one.a, one.b): one.kept for one in found.pairs}

    def tip(a: str, b: str, kept: float) -> str:
        return f"{a} above {b} in {percent(kept)} of resamples"

    return {"robustness": draw_shares("Row above column: % of resamples", names[:-1], names[1:], shares, tip=tip)}


def tabulate_distances(found: Sequence[Distance]) -> Tabled:
    return tabulate(found, {
        "text": lambda one: one.text,
        "here": lambda one: one.here,
        "there": lambda one: one.there if one.there != one.here else "itself",
        "encoder": lambda one: one.encoder,
        "mean cosine": lambda one: number(one.mean, ".3f"),
        "95 %": lambda one: span(one.interval, ".3f", 1),
        "mean of nearest": lambda one: number(one.nearest, ".3f"),
        "near-duplicates": lambda one: one.near_duplicates,
    })  # fmt: skip


def tabulate_closest(found: Sequence[Distance]) -> Tabled:
    return tabulate([(one, pair) for one in found for pair in one.closest[:_SHOWN]], {
        "text": lambda one: one[0].text,
        "here": lambda one: f"{one[0].here}: {one[1].here}",
        "there": lambda one: f"{one[0].there}: {one[1].there}",
        "cosine": lambda one: number(one[1].cosine, ".3f"),
    })  # fmt: skip


def tabulate_shared(shared: Mapping[str, Sequence[SharedRun]]) -> Tabled:
    """The prompts of each dataset with the longest shared runs."""
    rows = [
        [name, one.id, str(one.tokens), percent(one.share), str(one.line), one.words]
        for name, runs in shared.items()
        for one in runs[:_RUNS]
        if one.tokens
    ]
    rows += [[name, "none", "0", "", "", ""] for name, runs in shared.items() if not any(one.tokens for one in runs)]
    return ["dataset", "here", "tokens", "of the prompt", "line", "text"], rows


def draw_divergence(found: Sequence[Distance], planes: Mapping[str, Mapping[str, Floats]]) -> Plots:
    """`planes`: by prompt or code, the coordinates of each dataset's texts."""
    drawn = {}
    for kind, groups in planes.items():
        some = {name: places[:: -(-len(places) // _MARKS) or 1].tolist() for name, places in groups.items()}
        drawn[f"divergence-{kind}"] = stand_alone(draw_plane(f"t-SNE of {kind} vectors", some))
        shares = {
            pair: one.mean
            for one in found
            if one.text == kind
            for pair in ((one.here, one.there), (one.there, one.here))
        }
        title = f"Mean cosine of {kind} vectors, in hundredths"
        drawn[f"divergence-{kind}-cosine"] = draw_shares(title, [*groups], [*groups], shares, tip=name_figure)
    return drawn


def tabulate_methods(found: Evaluation) -> Tabled:
    return tabulate(sorted(found.figures, key=lambda one: AXES.index(one.axis)), {
        "axis": lambda one: one.axis,
        "method": lambda one: one.method,
        "prompts": lambda one: one.prompts,
        "weighted F1": lambda one: number(one.f1, ".3f"),
        "deviation": lambda one: number(one.deviation, ".3f"),
        "accuracy": lambda one: percent(one.accuracy),
        "by fold": lambda one: " ".join(map(number, one.by_fold)),
    })  # fmt: skip


def tabulate_labels(figure: Figure) -> Tabled:
    """F1 of each label and its confusions, for one method on one axis."""
    rows = [
        [label, str(sum(row.values())), number(figure.by_label[label]), *map(str, row.values())]
        for label, row in figure.confusion.items()
    ]
    return ["label", "prompts", "F1", *figure.confusion], rows


def draw_methods(found: Evaluation) -> Plots:
    """F1 of every method on every axis, and the confusions of the last method."""
    methods = list(dict.fromkeys(one.method for one in found.figures))
    shares = {(one.method, one.axis): one.f1 for one in found.figures}
    drawing = draw_shares("Weighted F1 in hundredths", methods, AXES, shares, tip=name_figure)
    drawn = {f"classifier-{found.name}": drawing}
    for one in found.figures:
        if one.method == methods[-1]:
            drawn[f"classifier-{found.name}-{one.axis}"] = _draw_confusion(one)
    return drawn


def _draw_confusion(one: Figure) -> str:
    def tip(label: str, other: str, _: float) -> str:
        return f"{label} predicted as {other}: {one.confusion[label][other]}"

    labels, title = list(one.confusion), f"{one.axis.capitalize()}: % of a row's label predicted as a column's"
    totals = {label: max(1, sum(row.values())) for label, row in one.confusion.items()}
    shares = {(a, b): count / totals[a] for a, row in one.confusion.items() for b, count in row.items()}
    return draw_shares(title, labels, labels, shares, tip=tip)


def tabulate_predictions(predicted: Mapping[str, Predictions], true: Mapping[str, Predictions]) -> Tabled:
    """Label counts by dataset: predicted, and true if known."""
    rows = []
    for axis in AXES:
        for name, labels in predicted.items():
            known = {id: found for id, found in true.get(name, {}).items() if axis in found}
            for kind, each in (("predicted", labels), ("true", known)):
                counts = Counter(found[axis] for found in each.values()).most_common()
                rows += [[axis, label, name, kind, str(n), percent(n / len(each))] for label, n in counts]
    return ["axis", "label", "dataset", "", "prompts", "share"], rows


def draw_predictions(predicted: Mapping[str, Predictions]) -> Plots:
    drawn = {}
    for axis in AXES:
        counts = {name: Counter(found[axis] for found in labels.values()) for name, labels in predicted.items()}
        labels = sorted(set().union(*counts.values()))
        shares = {(one, name): each[one] / max(1, each.total()) for name, each in counts.items() for one in labels}
        title = f"{axis.capitalize()} as predicted: % of prompts"
        drawn[f"predicted-{axis}"] = draw_shares(
            title, labels, list(predicted), shares, tip=lambda one, name, share: f"{name}, {one}: {percent(share)}"
        )
    return drawn


def _columns(figures: Callable[[Item], Figures], mean: str, place: str) -> Columns[Item]:
    """Count, mean and quantiles; `mean` and `place` are their number formats."""
    return {
        "n": lambda one: figures(one).count,
        "mean": lambda one: number(figures(one).mean, mean),
        "deviation": lambda one: number(figures(one).deviation, mean),
        "10 %": lambda one: number(figures(one).low, place),
        "median": lambda one: number(figures(one).median, place),
        "90 %": lambda one: number(figures(one).high, place),
        "most": lambda one: number(figures(one).most, place),
    }


def _draw_bins(title: str, rows: Mapping[str, Sequence[float]], bins: Sequence[str]) -> str:
    pairs = [(row, pair) for row, shares in rows.items() for pair in zip(bins, shares, strict=True)]
    known = {(row, name): share for row, (name, share) in pairs if not math.isnan(share)}
    return draw_shares(title, list(rows), bins, known, slant=False)
