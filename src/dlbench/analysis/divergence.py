"""Measure the distance between datasets by the embeddings of their texts, and find pieces of prompts in a text.

With unit vectors the mean cosine is the product of the two mean vectors, so a thousand resamples cost little. Distant
datasets may still share texts, so nearest pairs and near-duplicates are reported too.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from dlbench.analysis.corpora import Item
from dlbench.analysis.embeddings import Vectors
from dlbench.errors import DLBenchError
from dlbench.scoring.intervals import NOTHING, RESAMPLES, SEED, Floats, Interval, bound

NEAR_DUPLICATE = 0.9
_SHOWN = 10

SHORTEST = 8
"""Shorter runs are ignored: they occur by chance."""
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Texts:
    """The prompts or the code of one dataset, with their vectors."""

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
    """From `here` to `there`; the two may be the same dataset."""

    here: str
    there: str
    text: str
    """prompt or code."""
    encoder: str
    mean: float
    interval: Interval
    """Resamples the texts of both; n/a if a side has fewer than two."""
    nearest: float
    """Mean over the texts here of the cosine with the nearest text there."""
    near_duplicates: int
    """Pairs of `NEAR_DUPLICATE` or more."""
    closest: tuple[Neighbours, ...]
    """The nearest pairs, nearest first: all near-duplicates, and at least ten if there are."""
    neighbours: tuple[Neighbours, ...]
    """For each text here, the nearest there."""


def measure_distances(texts: Sequence[Texts], text: str, encoder: str) -> list[Distance]:
    """Each dataset with itself, then each pair."""
    within = [_measure(one, one, text, encoder) for one in texts]
    return within + [_measure(here, there, text, encoder) for here, there in combinations(texts, 2)]


def project_to_plane(texts: Sequence[Texts]) -> dict[str, Floats]:
    """t-SNE of all datasets together, seeded. Distances between groups mean nothing."""
    from sklearn.manifold import TSNE

    together = np.concatenate([one.vectors for one in texts]).astype(np.float64)
    if len(together) < 2:  # t-SNE needs two texts
        return {one.name: np.zeros((len(one.ids), 2)) for one in texts}
    perplexity = min(30.0, max(1.0, (len(together) - 1) / 3))
    metric, init = "cosine", "pca" if min(together.shape) >= 2 else "random"
    placed = TSNE(perplexity=perplexity, metric=metric, init=init, random_state=SEED).fit_transform(together)
    ends = np.cumsum([len(one.ids) for one in texts])[:-1]
    return {one.name: part.astype(np.float64) for one, part in zip(texts, np.split(placed, ends), strict=True)}


def _measure(here: Texts, there: Texts, text: str, encoder: str) -> Distance:
    same = here is there
    cosines = here.vectors.astype(np.float64) @ there.vectors.astype(np.float64).T
    apart = ~np.eye(len(cosines), dtype=bool) if same else np.ones_like(cosines, dtype=bool)
    counted = np.triu(apart) if same else apart
    others, once = np.where(apart, cosines, -np.inf), np.where(counted, cosines, -np.inf)
    return Distance(
        here=here.name,
        there=there.name,
        text=text,
        encoder=encoder,
        mean=float(cosines[apart].mean()) if apart.any() else float("nan"),
        interval=_bound_within(cosines) if same else _bound_between(here.vectors, there.vectors),
        nearest=float(others.max(axis=1).mean()) if apart.any() else float("nan"),
        near_duplicates=int((once >= NEAR_DUPLICATE).sum()),
        closest=_name_pairs(here, there, once, _find_closest(once)),
        neighbours=_name_pairs(here, there, others, enumerate(others.argmax(axis=1).tolist())),
    )


def _find_closest(cosines: Floats) -> Iterable[tuple[int, int]]:
    count = max(_SHOWN, int((cosines >= NEAR_DUPLICATE).sum()))
    rows, columns = np.unravel_index(np.argsort(-cosines, axis=None, kind="stable")[:count], cosines.shape)
    return zip(rows.tolist(), columns.tolist(), strict=True)


def _name_pairs(here: Texts, there: Texts, cosines: Floats, pairs: Iterable[tuple[int, int]]) -> tuple[Neighbours, ...]:
    return tuple(
        Neighbours(here.ids[row], there.ids[column], float(cosines[row, column]))
        for row, column in pairs
        if np.isfinite(cosines[row, column])
    )


def _bound_between(here: Vectors, there: Vectors) -> Interval:
    if min(len(here), len(there)) < 2:
        return NOTHING
    rng = np.random.default_rng(SEED)
    means = np.einsum("ij,ij->i", _draw(len(here), rng) @ here, _draw(len(there), rng) @ there)
    return bound(means, "bootstrap")


def _bound_within(cosines: Floats) -> Interval:
    """A text drawn twice is not compared with itself; otherwise resamples would look more alike than the whole."""
    if len(cosines) < 3:
        return NOTHING
    counts = _draw(len(cosines), np.random.default_rng(SEED)) * len(cosines)
    apart = cosines - np.diag(np.diag(cosines))
    sums = np.einsum("ri,ri->r", counts @ apart, counts)
    pairs = len(cosines) ** 2 - (counts**2).sum(axis=1)
    known = pairs > 0  # of three texts, one may be drawn three times
    return bound(sums[known] / pairs[known], "bootstrap")


def _draw(size: int, rng: np.random.Generator) -> Floats:
    """For each resample, the weight of each item."""
    return rng.multinomial(size, np.full(size, 1 / size), size=RESAMPLES) / size


@dataclass(frozen=True)
class SharedRun:
    id: str
    tokens: int
    """Length of the longest run; 0 if none has `SHORTEST` tokens."""
    share: float
    """Of the prompt's tokens."""
    line: int | None
    """The line of the text on which the run ends."""
    words: str
    """The first words of the run."""


def find_shared_runs(items: Sequence[Item], text: Path, shortest: int = SHORTEST) -> list[SharedRun]:
    """One per prompt, longest first."""
    prompts = [_TOKEN.findall(item.prompt) for item in items]
    longest = _match([[token.lower() for token in prompt] for prompt in prompts], _read_tokens(text), shortest)
    found = []
    for number, (item, prompt) in enumerate(zip(items, prompts, strict=True)):
        length, end, line = longest.get(number, (0, 0, None))
        words = " ".join(prompt[end - length : end][:12])
        found.append(SharedRun(item.id, length, length / max(1, len(prompt)), line, words))
    return sorted(found, key=lambda run: (-run.tokens, run.id))


def _match(
    prompts: Sequence[Sequence[str]], tokens: Iterable[tuple[str, int]], shortest: int
) -> dict[int, tuple[int, int, int | None]]:
    """By prompt: length of its longest run, its end in the prompt, and the line of the text."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for number, prompt in enumerate(prompts):
        for end in range(shortest, len(prompt) + 1):
            places[tuple(prompt[end - shortest : end])].append((number, end))
    longest: dict[int, tuple[int, int, int | None]] = {}
    window: deque[str] = deque(maxlen=shortest)
    running: dict[tuple[int, int], int] = {}
    for token, line in tokens:
        window.append(token)
        grown: dict[tuple[int, int], int] = {}
        for number, end in places.get(tuple(window), ()):
            length = running.get((number, end - 1), shortest - 1) + 1
            grown[number, end] = length
            if length > longest.get(number, (0, 0, None))[0]:
                longest[number] = length, end, line
        running = grown
    return longest


def _read_tokens(path: Path) -> Iterator[tuple[str, int]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                for token in _TOKEN.findall(line):
                    yield token.lower(), number
    except UnicodeDecodeError:
        raise DLBenchError("not UTF-8", where=str(path), fix="give a plain text file in UTF-8") from None
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
