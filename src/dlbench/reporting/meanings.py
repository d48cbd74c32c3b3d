"""How is it shown how far datasets lie from one another? Tables of cosines, and texts as marks in a plane."""

from collections.abc import Mapping, Sequence

from dlbench.analysis.contamination import SharedRun
from dlbench.analysis.divergence import Distance, Floats
from dlbench.reporting.figures import number, percent
from dlbench.reporting.pictures import Cell, draw_grid, draw_plane
from dlbench.reporting.pictures.alone import stand_alone
from dlbench.reporting.studies import Pictures
from dlbench.reporting.tables import Tabled
from dlbench.scoring import Interval

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
