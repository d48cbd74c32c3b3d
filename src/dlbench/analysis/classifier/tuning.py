"""What does an encoder learn from labelled prompts, and what does it then say of others?

The upper layers and one linear head an axis are tuned together: labels of task and data teach the layers too, and one
training serves all three axes. Rare labels weigh more, by the root of how rare they are. Seeded, on the processor: the
same prompts give the same classifier.

Imported only where something is tuned or asked: torch takes seconds to load.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dlbench.analysis.classifier.baselines import Scores
from dlbench.analysis.classifier.halves import Halves, cut_by_length, pool
from dlbench.analysis.classifier.labelled import UNKNOWN, Places
from dlbench.analysis.classifier.recipe import Recipe

_HEADS_FASTER = 20
_WARM_UP = 0.1
_DECAY = 0.01
_DROPOUT = 0.1
_CLIP = 1.0
_SMOOTHING = 0.1
_BESIDE = 0.5
"""What the loss of each axis after the first counts."""
_POOL = 8
"""Batches are cut by length from this many drawn at random."""


@dataclass(frozen=True)
class Tuned:
    upper: Any
    heads: Any


def tune(
    halves: Halves,
    given: Sequence[Tensor],
    targets: Places,
    sizes: Sequence[int],
    recipe: Recipe,
    advance: Callable[[str], None],
) -> Tuned:
    """`given` is what the lower half gave, a matrix a prompt; `sizes` how many labels each axis has. Each call of
    `advance` is an epoch."""
    torch.manual_seed(recipe.seed)
    draws = torch.Generator().manual_seed(recipe.seed)
    tuned = make_untuned(halves, sizes)
    steps = recipe.epochs * -(-len(given) // recipe.batch)
    groups = [
        {"params": tuned.upper.parameters(), "lr": recipe.rate},
        {"params": tuned.heads.parameters(), "lr": recipe.rate * _HEADS_FASTER},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (_WARM_UP * steps), (steps - step) / ((1 - _WARM_UP) * steps))
    )
    weights = [_weigh(targets[:, axis], size) for axis, size in enumerate(sizes)]
    tuned.upper.train()
    for _ in range(recipe.epochs):
        total = 0.0
        for places in _shuffle([len(one) for one in given], recipe.batch, draws):
            pooled = nn.functional.dropout(pool(tuned.upper, [given[place] for place in places]), _DROPOUT)
            wanted = torch.from_numpy(targets[places])
            loss = _add_losses([head(pooled) for head in tuned.heads], wanted, weights)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(tuned.upper.parameters(), _CLIP)
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(places)
        advance(f"loss {total / len(given):.3f}")
    return tuned


def make_untuned(halves: Halves, sizes: Sequence[int]) -> Tuned:
    return Tuned(halves.make_upper(), nn.ModuleList([nn.Linear(halves.width, size) for size in sizes]))


def score(tuned: Tuned, given: Sequence[Tensor], batch: int = 32) -> Scores:
    """Log-probabilities by axis, a row a prompt."""
    found: dict[int, list[Tensor]] = {}
    tuned.upper.eval()
    with torch.inference_mode():
        for places in cut_by_length([len(one) for one in given], batch):
            pooled = pool(tuned.upper, [given[place] for place in places])
            told = [head(pooled).log_softmax(1) for head in tuned.heads]
            for row, place in enumerate(places):
                found[place] = [axis[row] for axis in told]
    return [
        np.array([found[place][axis].numpy() for place in range(len(given))], dtype=np.float64)
        for axis in range(len(tuned.heads))
    ]


def _weigh(labels: Places, size: int) -> Tensor:
    counts = np.bincount(labels[labels != UNKNOWN], minlength=size)
    return torch.tensor(np.sqrt(counts.sum() / size / np.maximum(1, counts)), dtype=torch.float32)


def _add_losses(told: Sequence[Tensor], wanted: Tensor, weights: Sequence[Tensor]) -> Tensor:
    total = torch.zeros(())
    for axis, (scores, weight) in enumerate(zip(told, weights, strict=True)):
        labels = wanted[:, axis]
        if bool((labels != UNKNOWN).any()):
            loss = nn.functional.cross_entropy(
                scores, labels, weight, ignore_index=UNKNOWN, label_smoothing=0.0 if axis else _SMOOTHING
            )
            total = total + (_BESIDE if axis else 1.0) * loss
    return total


def _shuffle(lengths: Sequence[int], size: int, draws: Any) -> list[list[int]]:  # noqa: ANN401 - a torch.Generator
    """Every place once, in batches of like length, in an order that differs from epoch to epoch."""
    order = torch.randperm(len(lengths), generator=draws).tolist()
    batches = []
    for start in range(0, len(order), size * _POOL):
        part = order[start : start + size * _POOL]
        batches += [[part[place] for place in places] for places in cut_by_length([lengths[one] for one in part], size)]
    return [batches[place] for place in torch.randperm(len(batches), generator=draws).tolist()]
