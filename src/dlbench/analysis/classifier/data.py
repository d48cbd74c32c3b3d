"""What does a classifier learn from, and what is it asked? Prompts with labels on three axes, as numbers.

Folds are stratified by stage and drawn from a seed: the same on every machine. Of a stage with fewer prompts than
folds, some folds have none. They may part projects, so that nothing was learnt of a project that is asked about: else
its name alone tells much. A prompt without a label on an axis takes no part in that axis, in learning as in measuring;
it is no label of its own.

How is an encoder tuned? Everything that a result depends on, beside the data, in one record that is kept with it.
"""

import hashlib
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlbench.analysis.corpora import Corpus, Item
from dlbench.dataset import AXES as _AXES
from dlbench.errors import DLBenchError

AXES = tuple(_AXES)

Places = NDArray[np.int64]
UNKNOWN = -1
FEWEST = 2


@dataclass(frozen=True)
class Prompts:
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...]
    """By axis, the labels that there are."""
    targets: Places
    """A row a prompt, a column an axis: the place of its label in `classes`, or `UNKNOWN`."""
    lent: int = 0
    """So many at the end are of another dataset: every fold learns from them, and none is ever asked."""
    groups: tuple[str, ...] = ()
    """The project that each is about; none where that is not known."""

    @property
    def mark(self) -> str:
        """Differs where prompts, labels or their order do."""
        told = hashlib.sha256()
        for id, text, row in zip(self.ids, self.texts, self.targets.tolist(), strict=True):
            told.update(f"{id}\0{text}\0{row}\0".encode("utf-8", "surrogatepass"))
        return told.hexdigest()

    def take(self, places: Places) -> "Prompts":
        texts = tuple(self.texts[place] for place in places)
        groups = tuple(self.groups[place] for place in places) if self.groups else ()
        ids = tuple(self.ids[place] for place in places)
        return Prompts(ids, texts, self.classes, self.targets[places], groups=groups)


def gather_prompts(corpus: Corpus) -> Prompts:
    items = corpus.items
    classes = tuple(tuple(sorted({item.labels[axis] for item in items if axis in item.labels})) for axis in AXES)
    for axis, names in zip(AXES, classes, strict=True):
        if len(names) < FEWEST:
            raise DLBenchError(
                f"there are fewer than two labels of {axis} to tell apart",
                where=corpus.name,
                fix="learn from a dataset with labels: `ours`, or a folder of official DL-Bench files",
            )
    targets = [[_place(item, axis, names) for axis, names in zip(AXES, classes, strict=True)] for item in items]
    ids, texts = tuple(item.id for item in items), tuple(item.prompt for item in items)
    groups = tuple(item.group for item in items)
    return Prompts(ids, texts, classes, np.array(targets, dtype=np.int64), groups=groups)


def borrow(prompts: Prompts, corpus: Corpus, other: Corpus) -> Prompts:
    """The prompts of `corpus`, and behind them those of `other` to learn from. What is about a project that both have
    is left out: it may be an asked function in other words, with its label."""
    shared = {_spell(item.group) for item in corpus.items}
    lent = [item for item in other.items if _spell(item.group) not in shared and item.labels]
    if not lent:
        what = "no prompt with a label is about a project that is not asked about"
        raise DLBenchError(what, where=other.name, fix="give another dataset to --also")
    targets = [[_place(item, axis, names) for axis, names in zip(AXES, prompts.classes, strict=True)] for item in lent]
    return Prompts(
        (*prompts.ids, *(f"{other.name}:{item.id}" for item in lent)),
        (*prompts.texts, *(item.prompt for item in lent)),
        prompts.classes,
        np.concatenate([prompts.targets, np.array(targets, dtype=np.int64)]),
        len(lent),
        (*prompts.groups, *(item.group for item in lent)),
    )


def _place(item: Item, axis: str, names: tuple[str, ...]) -> int:
    """Of its label among those that are told apart; one that is not among them teaches nothing on this axis."""
    label = item.labels.get(axis)
    return names.index(label) if label in names else UNKNOWN


def _spell(group: str) -> str:
    """`scikit-learn` and `Scikit_Learn` are one project."""
    return "".join(letter for letter in group.lower() if letter.isalnum())


def draw_folds(prompts: Prompts, folds: int, seed: int, *, new_projects: bool = False) -> list[tuple[Places, Places]]:
    """For each fold, the places of what is learnt from and of what is asked. What was lent is learnt from in all.

    With `new_projects` all prompts of a project are asked in one fold.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    own = len(prompts.ids) - prompts.lent
    stages = prompts.targets[:own, 0]
    most = int(np.bincount(stages - UNKNOWN).max())
    if most < folds:
        what = f"no stage has more than {most} prompts, fewer than folds"
        raise DLBenchError(what, fix=f"give --folds {max(2, most)} or less, or a larger dataset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a rare stage is missing in some folds, and no more can be done
        if new_projects:
            parted = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
            splits = list(parted.split(stages, stages, _find_projects(prompts, own, folds)))
        else:
            splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(stages, stages))
    lent = np.arange(own, len(prompts.ids))
    return [(np.concatenate([learnt, lent]).astype(np.int64), np.asarray(asked, np.int64)) for learnt, asked in splits]


def _find_projects(prompts: Prompts, own: int, folds: int) -> list[str]:
    projects = [_spell(group) for group in prompts.groups[:own]]
    if len(projects) < own or not all(projects):
        what = "the dataset does not say of every prompt which project it is about"
        raise DLBenchError(what, fix="leave out --new-projects, or give another dataset")
    if len(set(projects)) < folds:
        what = f"there are {len(set(projects))} projects, fewer than folds"
        raise DLBenchError(what, fix="give fewer --folds, or leave out --new-projects")
    return projects


def known_on(targets: Places, axis: int) -> Places:
    """The places of prompts that have a label on this axis."""
    return np.flatnonzero(targets[:, axis] != UNKNOWN)


@dataclass(frozen=True)
class Recipe:
    """AdamW with a warm-up and a linear decay; one linear head an axis on the mean of the tokens' vectors.

    Fixed before any test fold was seen: there is no early stopping and no best epoch.
    """

    encoder: str = "minilm"
    frozen: int = 5
    """Layers at the bottom, with the embeddings, that stay as they are: what they give is computed once."""
    epochs: int = 6
    batch: int = 16
    rate: float = 2e-4
    """Of the encoder's layers; heads, which begin from nothing, learn twenty times as fast."""
    tokens: int = 256
    """Prompts are cut there."""
    seed: int = 0
