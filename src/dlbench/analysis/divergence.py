"""How far is one benchmark from another, by what its texts mean?

Mean cosine: over every pair of one text of each, the mean of the cosines of their vectors. With vectors of length one
it is the product of the two mean vectors, so a thousand resamples cost next to nothing. Two benchmarks may be far apart
on average and still share a few texts, so the nearest of all pairs and the near-duplicates are told beside it. A mean
within a benchmark leaves every text's cosine with itself (1) out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dlbench.analysis.embeddings import Vectors
from dlbench.scoring.intervals import Interval, bound

NEAR_DUPLICATE = 0.9
"""Texts of this cosine or more are told as near-duplicates."""
RESAMPLES = 1000
SEED = 0
_SHOWN = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Texts:
    """The prompts or the code of one dataset, with a vector each."""

    name: str
    ids: tuple[str, ...]
    vectors: Vectors


@dataclass(frozen=True)
class Neighbours:
    here: str
    there: str
    cosine: float


@dataclass(frozen=True)
class Distance:
    """Of `here` to `there`; of a dataset to itself where the two are the same."""

    here: str
    there: str
    text: str
    """prompt or code."""
    encoder: str
    mean: float
    interval: Interval
    """Texts of both drawn anew; n/a where a side has fewer than two."""
    nearest: float
    """The mean, over the texts here, of the cosine with the nearest text there."""
    near_duplicates: int
    """Pairs of `NEAR_DUPLICATE` or more."""
    closest: tuple[Neighbours, ...]
    """The nearest pairs of all, the nearest first: every near-duplicate, and ten at least where there are so many."""
    neighbours: tuple[Neighbours, ...]
    """For each text here, the nearest there."""


def measure_distances(texts: Sequence[Texts], text: str, encoder: str) -> list[Distance]:
    """Every dataset within itself, then every two of them."""
    within = [_measure(one, one, text, encoder) for one in texts]
    return within + [_measure(here, there, text, encoder) for here, there in combinations(texts, 2)]


def place_in_plane(texts: Sequence[Texts], seed: int = SEED) -> dict[str, Floats]:
    """t-SNE of all datasets together; the same seed gives the same picture. How far apart groups lie means nothing."""
    from sklearn.manifold import TSNE

    together = np.concatenate([one.vectors for one in texts]).astype(np.float64)
    if len(together) < 2:  # t-SNE needs something to hold a text against
        return {one.name: np.zeros((len(one.ids), 2)) for one in texts}
    perplexity = min(30.0, max(1.0, (len(together) - 1) / 3))
    metric, init = "cosine", "pca" if min(together.shape) >= 2 else "random"
    placed = TSNE(perplexity=perplexity, metric=metric, init=init, random_state=seed).fit_transform(together)
    ends = np.cumsum([len(one.ids) for one in texts])[:-1]
    return {one.name: part.astype(np.float64) for one, part in zip(texts, np.split(placed, ends), strict=True)}


def _measure(here: Texts, there: Texts, text: str, encoder: str) -> Distance:
    same = here is there
    cosines = here.vectors.astype(np.float64) @ there.vectors.astype(np.float64).T
    apart = ~np.eye(len(cosines), dtype=bool) if same else np.ones_like(cosines, dtype=bool)
    looked_at = np.triu(apart) if same else apart
    nearest = np.where(apart, cosines, -np.inf).max(axis=1)
    return Distance(
        here=here.name,
        there=there.name,
        text=text,
        encoder=encoder,
        mean=float(cosines[apart].mean()) if apart.any() else float("nan"),
        interval=_bound_within(cosines) if same else _bound_between(here.vectors, there.vectors),
        nearest=float(nearest.mean()) if apart.any() else float("nan"),
        near_duplicates=int((cosines[looked_at] >= NEAR_DUPLICATE).sum()),
        closest=_find_closest(here, there, np.where(looked_at, cosines, -np.inf)),
        neighbours=_find_neighbours(here, there, np.where(apart, cosines, -np.inf)),
    )


def _find_neighbours(here: Texts, there: Texts, cosines: Floats) -> tuple[Neighbours, ...]:
    nearest = cosines.argmax(axis=1)
    return tuple(
        Neighbours(here.ids[row], there.ids[column], float(cosines[row, column]))
        for row, column in enumerate(nearest)
        if np.isfinite(cosines[row, column])
    )


def _find_closest(here: Texts, there: Texts, cosines: Floats) -> tuple[Neighbours, ...]:
    wanted = max(_SHOWN, int((cosines >= NEAR_DUPLICATE).sum()))
    flat = np.argsort(-cosines, axis=None, kind="stable")[:wanted]
    rows, columns = np.unravel_index(flat, cosines.shape)
    return tuple(
        Neighbours(here.ids[row], there.ids[column], float(cosines[row, column]))
        for row, column in zip(rows, columns, strict=True)
        if np.isfinite(cosines[row, column])
    )


def _bound_between(here: Vectors, there: Vectors) -> Interval:
    if min(len(here), len(there)) < 2:
        return Interval(float("nan"), float("nan"), "n/a")
    draws = np.random.default_rng(SEED)
    means = np.einsum("ij,ij->i", _draw(len(here), draws) @ here, _draw(len(there), draws) @ there)
    return bound(means, "bootstrap")


def _bound_within(cosines: Floats) -> Interval:
    """A text drawn twice is not held against itself, or every resample would seem more alike than the whole."""
    if len(cosines) < 3:
        return Interval(float("nan"), float("nan"), "n/a")
    counts = _draw(len(cosines), np.random.default_rng(SEED)) * len(cosines)
    apart = cosines - np.diag(np.diag(cosines))
    sums = np.einsum("ri,ri->r", counts @ apart, counts)
    pairs = len(cosines) ** 2 - (counts**2).sum(axis=1)
    told = pairs > 0  # of three texts, one may be drawn three times
    return bound(sums[told] / pairs[told], "bootstrap")


def _draw(size: int, draws: np.random.Generator) -> Floats:
    """For each resample, the share of it that each thing is."""
    return draws.multinomial(size, np.full(size, 1 / size), size=RESAMPLES) / size
