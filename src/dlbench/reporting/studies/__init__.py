"""How are studies shown to a person? A table and a picture each; a figure that is not known is n/a.

How is it shown how far datasets lie from one another? Tables of cosines, and texts as marks in a plane.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from dlbench.analysis import complexity as complexities
from dlbench.analysis import relevance as relevances
from dlbench.analysis.benchmark_correlation import BenchmarkRank, Scores
from dlbench.analysis.complexity import Complexity, Figures
from dlbench.analysis.contamination import SharedRun
from dlbench.analysis.corpora import Corpus
from dlbench.analysis.divergence import Distance, Floats
from dlbench.analysis.ranking_robustness import Part, Robustness
from dlbench.analysis.relevance import Relevance
from dlbench.reporting.charts import Cell, draw_grid, draw_plane, stand_alone
from dlbench.reporting.formatting import number, p_value, percent, points
from dlbench.reporting.tables import Tabled
from dlbench.scoring import Interval

Pictures = dict[str, str]
"""By the name of the file, without its ending."""

MOST_PAIRS = 50
_SHOWN = 3


def tabulate_complexity(found: Sequence[Complexity]) -> Tabled:
    rows = [
        [name, one.name, *_tell(one.figures[name], ".2f", ".0f")] for name in complexities.MEASURES for one in found
    ]
    return ["measure", "dataset", *_HEADINGS], rows


def describe_complexity(found: Sequence[Complexity]) -> list[str]:
    """What is not in the table, by dataset."""
    lines = []
    for one in found:
        if one.without_code:
            lines.append(f"{one.name}: {one.without_code} of {one.items} references are not at hand, and not counted")
        if one.unparsed:
            shown = ", ".join(one.unparsed[:_SHOWN]) + (", …" if len(one.unparsed) > _SHOWN else "")
            lines.append(f"{one.name}: {len(one.unparsed)} references do not parse, and are not counted ({shown})")
    return lines


def draw_complexity(found: Sequence[Complexity]) -> Pictures:
    return {
        f"complexity-{name}": _draw_bins(
            f"{name.capitalize()}: % of references", {one.name: one.bins[name] for one in found}, _name_bins(ends)
        )
        for name, ends in complexities.BINS.items()
    }


def tabulate_relevance(found: Sequence[Relevance]) -> Tabled:
    rows = [
        [one.name, one.text, *_tell(one.figures, ".3f", ".3f"), number(one.by_occurrence.mean, ".3f")] for one in found
    ]
    return ["dataset", "text", *_HEADINGS, "mean by occurrence"], rows


def tabulate_categories(found: Sequence[Relevance]) -> Tabled:
    rows = [[one.name, one.text, *(percent(one.categories[name]) for name in one.categories)] for one in found]
    return ["dataset", "text", *relevances.CATEGORIES], rows


def draw_relevance(found: Sequence[Relevance]) -> Pictures:
    bins = [f"{100 * low:.0f}" for low in relevances.BINS]
    rows = {f"{one.name}, {one.text}": one.bins for one in found}
    kinds = {
        (f"{one.name}, {one.text}", name): Cell(share, f"{one.name}, {one.text}, {name}: {percent(share)}")
        for one in found
        for name, share in one.categories.items()
    }
    return {
        "relevance": _draw_bins("DL-relevance from … %: % of texts", rows, bins),
        "relevance-kinds": stand_alone(
            draw_grid("% of words by kind of keyword", [*rows], relevances.CATEGORIES, kinds)
        ),
    }


def describe_missing(corpora: Sequence[Corpus]) -> list[str]:
    """References that are not at hand, by dataset."""
    missing = {corpus.name: len(corpus.items) - len(corpus.with_code) for corpus in corpora}
    return [f"{name}: {count} references are not at hand, and not counted" for name, count in missing.items() if count]


def tabulate_benchmarks(found: Sequence[BenchmarkRank]) -> Tabled:
    rows = [
        [
            one.here,
            one.there,
            str(one.against.models),
            percent(one.against.mean_here),
            percent(one.against.mean_there),
            number(one.against.cohen_d),
            number(one.against.fisher_ratio),
            f"{number(one.against.spearman)} (p {p_value(one.against.spearman_p)})",
            f"{number(one.against.kendall)} (p {p_value(one.against.kendall_p)})",
        ]
        for one in found
    ]
    return ["here", "there", "models", "mean here", "mean there", "Cohen's d", "Fisher", "Spearman", "Kendall"], rows


def draw_benchmarks(scores: Scores) -> Pictures:
    models = list(dict.fromkeys(model for found in scores.values() for model in found))
    cells = {
        (model, name): Cell(score, f"{model} on {name}: {percent(score)}")
        for name, found in scores.items()
        for model, score in found.items()
    }
    return {"statistics": stand_alone(draw_grid("Scores in %", models, list(scores), cells))}


def tabulate_order(found: Robustness) -> Tabled:
    return ["run", "pass@1"], [[name, percent(score)] for name, score in found.order]


def tabulate_pairs(found: Robustness) -> Tabled:
    """Of many pairs those whose order is least sure; ties last, for they have none."""
    unsure = sorted(found.pairs, key=lambda one: (math.isnan(one.kept), one.kept))[:MOST_PAIRS]
    shown = found.pairs if len(found.pairs) <= MOST_PAIRS else unsure
    rows = [
        [
            one.a,
            one.b,
            points(one.difference),
            percent(one.kept),
            percent(one.tied),
            percent(one.turned),
            percent(one.kept_by_project),
        ]
        for one in shown
    ]
    return ["run", "above", "by", "order kept", "tied", "turned", "kept, projects drawn"], rows


def tabulate_resampled(found: Robustness) -> Tabled:
    rows = [
        [
            one.drawn,
            number(one.mean),
            f"{number(one.interval.low)} to {number(one.interval.high)}",
            percent(one.same_order),
            percent(one.same_best),
        ]
        for one in found.resampled
    ]
    return ["drawn anew", "Kendall's tau", "95 %", "whole order kept", "best stays best"], rows


def tabulate_parts(found: Sequence[Part]) -> Tabled:
    rows = [
        [
            one.axis,
            one.label,
            f"{one.instances} of {one.of}" if one.instances != one.of else str(one.instances),
            number(one.tau),
            "; ".join(f"{b} above {a}" for a, b in one.turned[:_SHOWN])
            + (f"; and {len(one.turned) - _SHOWN} more" if len(one.turned) > _SHOWN else ""),
        ]
        for one in found
    ]
    return ["axis", "label", "instances", "Kendall's tau", "turned round"], rows


def draw_robustness(found: Robustness) -> Pictures:
    """A row above a column: the share of resamples in which it stays there."""
    names = [name for name, _ in found.order]
    cells = {
        (one.a, one.b): Cell(one.kept, f"{one.a} above {one.b} in {percent(one.kept)} of resamples")
        for one in found.pairs
    }
    return {"robustness": stand_alone(draw_grid("Row above column: % of resamples", names[:-1], names[1:], cells))}


_HEADINGS = ["n", "mean", "deviation", "10 %", "median", "90 %", "most"]


def _tell(figures: Figures, mean: str, place: str) -> list[str]:
    places = (figures.low, figures.median, figures.high, figures.most)
    means = (figures.mean, figures.deviation)
    return [str(figures.count), *(number(one, mean) for one in means), *(number(one, place) for one in places)]


def _name_bins(ends: Sequence[int]) -> list[str]:
    named = [str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in pairwise(ends)]
    return [*named, f"{ends[-1]}+"]


def _draw_bins(title: str, rows: Mapping[str, Sequence[float]], bins: Sequence[str]) -> str:
    cells = {
        (row, name): Cell(share, f"{row}, {name}: {percent(share)}")
        for row, shares in rows.items()
        for name, share in zip(bins, shares, strict=True)
        if not math.isnan(share)
    }
    return stand_alone(draw_grid(title, list(rows), bins, cells, slant=False))


_PAIRS = 3
_RUNS = 5
_MARKS = 400
"""Most marks of one dataset in a picture; of more, every n-th is drawn."""


def tabulate_distances(found: Sequence[Distance]) -> Tabled:
    rows = [
        [
            one.text,
            one.here,
            one.there if one.there != one.here else "itself",
            one.encoder,
            number(one.mean, ".3f"),
            _span(one.interval),
            number(one.nearest, ".3f"),
            str(one.near_duplicates),
        ]
        for one in found
    ]
    return ["text", "here", "there", "encoder", "mean cosine", "95 %", "mean of nearest", "near-duplicates"], rows


def tabulate_closest(found: Sequence[Distance]) -> Tabled:
    rows = [
        [one.text, f"{one.here}: {pair.here}", f"{one.there}: {pair.there}", number(pair.cosine, ".3f")]
        for one in found
        for pair in one.closest[:_PAIRS]
    ]
    return ["text", "here", "there", "cosine"], rows


def tabulate_shared(shared: Mapping[str, Sequence[SharedRun]]) -> Tabled:
    """Of each dataset the prompts with the longest runs."""
    rows = [
        [name, one.id, str(one.tokens), percent(one.share), str(one.line), one.words]
        for name, runs in shared.items()
        for one in runs[:_RUNS]
        if one.tokens
    ]
    rows += [[name, "none", "0", "", "", ""] for name, runs in shared.items() if not any(one.tokens for one in runs)]
    return ["dataset", "here", "tokens", "of the prompt", "line", "text"], rows


def draw_divergence(found: Sequence[Distance], planes: Mapping[str, Mapping[str, Floats]]) -> Pictures:
    """`planes`: by prompt or code, the places of each dataset's texts."""
    drawn = {}
    for kind, groups in planes.items():
        some = {
            name: [(float(x), float(y)) for x, y in places[:: -(-len(places) // _MARKS) or 1]]
            for name, places in groups.items()
        }
        drawn[f"divergence-{kind}"] = stand_alone(draw_plane(f"t-SNE of {kind} vectors", some))
        cells = {
            pair: Cell(one.mean, f"{one.here} and {one.there}: {number(one.mean, '.3f')}")
            for one in found
            if one.text == kind
            for pair in ((one.here, one.there), (one.there, one.here))
        }
        names = list(groups)
        drawn[f"divergence-{kind}-cosine"] = stand_alone(
            draw_grid(f"Mean cosine of {kind} vectors, in hundredths", names, names, cells)
        )
    return drawn


def _span(interval: Interval) -> str:
    return f"{number(interval.low, '.3f')} to {number(interval.high, '.3f')}" if interval.kind != "n/a" else "n/a"
