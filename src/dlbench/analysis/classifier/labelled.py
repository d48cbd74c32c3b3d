"""What does a classifier learn from, and what is it asked? Prompts with labels on three axes, as numbers.

Folds are stratified by stage and drawn from a seed: the same on every machine. Of a stage with fewer prompts than
folds, some folds have none. A prompt without a label on an axis
takes no part in that axis, in learning as in measuring; it is no label of its own.
"""

import hashlib
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlbench.analysis.corpora import Corpus
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

    @property
    def mark(self) -> str:
        """Differs where prompts, labels or their order do."""
        told = hashlib.sha256()
        for id, text, row in zip(self.ids, self.texts, self.targets.tolist(), strict=True):
            told.update(f"{id}\0{text}\0{row}\0".encode("utf-8", "surrogatepass"))
        return told.hexdigest()

    def take(self, places: Places) -> "Prompts":
        texts = tuple(self.texts[place] for place in places)
        return Prompts(tuple(self.ids[place] for place in places), texts, self.classes, self.targets[places])


def gather_prompts(corpus: Corpus) -> Prompts:
    items = corpus.items
    classes = tuple(tuple(sorted({item.labels[axis] for item in items if axis in item.labels})) for axis in AXES)
    for axis, names in zip(AXES, classes, strict=True):
        if len(names) < FEWEST:
            raise DLBenchError(
                f"there are fewer than two labels of {axis} to tell apart",
                where=corpus.name,
                mend="learn from a dataset with labels: `ours`, or a folder of official DL-Bench files",
            )
    targets = [
        [
            names.index(item.labels[axis]) if axis in item.labels else UNKNOWN
            for axis, names in zip(AXES, classes, strict=True)
        ]
        for item in items
    ]
    ids, texts = tuple(item.id for item in items), tuple(item.prompt for item in items)
    return Prompts(ids, texts, classes, np.array(targets, dtype=np.int64))


def draw_folds(prompts: Prompts, folds: int, seed: int) -> list[tuple[Places, Places]]:
    """For each fold, the places of what is learnt from and of what is asked."""
    from sklearn.model_selection import StratifiedKFold

    stages = prompts.targets[:, 0]
    most = int(np.bincount(stages - UNKNOWN).max())
    if most < folds:
        what = f"no stage has more than {most} prompts, fewer than folds"
        raise DLBenchError(what, mend=f"give --folds {max(2, most)} or less, or a larger dataset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a rare stage is missing in some folds, and no more can be done
        splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(stages, stages))
    return [(np.asarray(learnt, np.int64), np.asarray(asked, np.int64)) for learnt, asked in splits]


def known_on(targets: Places, axis: int) -> Places:
    """The places of prompts that have a label on this axis."""
    return np.flatnonzero(targets[:, axis] != UNKNOWN)
