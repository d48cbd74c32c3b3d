"""What does a classifier reach that tunes no encoder? Without these beside it a tuned one's figure says little.

Each gives, for every axis, a matrix of log-probabilities: a row a prompt, a column a label. The two voters on words
were settled by looking at cross-validated figures on the official prompts, so that theirs may be high by a hundredth
there; the others are as their libraries' users mostly set them.

How is an encoder cut in two, so that what stays as it is runs once and not in every epoch?

The lower half ends after `frozen` layers; the upper half takes what it gave in place of embeddings. Together they are
the encoder: a test holds their vectors against the whole one's. Known are encoders that keep `embeddings` and a list
`encoder.layer`, as BERT, RoBERTa, MPNet, ELECTRA and their kin do.

Imported only where something is tuned or asked: torch takes seconds to load.

What does an encoder learn from labelled prompts, and what does it then say of others?

The upper layers and one linear head an axis are tuned together: labels of task and data teach the layers too, and one
training serves all three axes. Rare labels weigh more, by the root of how rare they are. Seeded, on the processor: the
same prompts give the same classifier.

Imported only where something is tuned or asked: torch takes seconds to load.
"""

import math
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from dlbench.analysis.classifier.data import UNKNOWN, Places, Prompts, Recipe, known_on
from dlbench.analysis.embeddings import Vectors, cannot_load, find_weights, quietly
from dlbench.errors import DLBenchError

Scores = list[NDArray[np.float64]]
"""By axis."""
LEAST = 1e-9
"""Instead of 0, whose logarithm would outvote everything."""
_FEW = 50
"""In so few prompts a word that only one of them has may count."""


def guess_majority(learnt: Prompts, asked: Prompts) -> Scores:
    scores = []
    for axis, names in enumerate(learnt.classes):
        known = known_on(learnt.targets, axis)
        shares = np.bincount(learnt.targets[known, axis], minlength=len(names)) / max(1, len(known))
        scores.append(np.tile(np.log(shares + LEAST), (len(asked.ids), 1)))
    return scores


def look_up_project(learnt: Prompts, asked: Prompts) -> Scores:
    """The most frequent label of the prompts about the same project, without a look at a word; of a project that is
    new, of all. What a classifier has beyond this it has from reading."""
    scores = guess_majority(learnt, asked)
    for project in set(asked.groups) & set(learnt.groups):
        own = learnt.take(np.flatnonzero([group == project for group in learnt.groups]))
        rows = [row for row, group in enumerate(asked.groups) if group == project]
        for axis, told in enumerate(guess_majority(own, asked.take(np.array(rows, dtype=np.int64)))):
            if len(known_on(own.targets, axis)):
                scores[axis][rows] = told
    return scores


def weigh_words(learnt: Prompts, asked: Prompts) -> Scores:
    """Two logistic regressions, on TF-IDF of words and on that of pieces of words; both count alike."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    usual = {"sublinear_tf": True, "min_df": 2 if len(learnt.texts) > _FEW else 1}
    voters = []
    for counted in (TfidfVectorizer(**usual), TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), **usual)):
        known, unknown = counted.fit_transform(learnt.texts), counted.transform(asked.texts)
        make = partial(LogisticRegression, C=10, max_iter=1000, class_weight="balanced")
        voters.append(_fit(learnt, make, known, unknown))
    return add_up(*voters)


def separate_vectors(learnt: Prompts, known: Vectors, unknown: Vectors) -> Scores:
    """A support vector machine with an RBF kernel on the vectors of an encoder that was left as it is."""
    from sklearn.svm import SVC

    return _fit(learnt, SVC, known, unknown)


def add_up(*voters: Scores) -> Scores:
    """The sum of log-probabilities. Who is a sum already, as that on words is, has two votes."""
    return [np.sum(scores, axis=0) for scores in zip(*voters, strict=True)]


def _fit(learnt: Prompts, make: Callable[[], Any], known: Any, unknown: Any) -> Scores:  # noqa: ANN401 - sparse or not
    scores = []
    for axis, names in enumerate(learnt.classes):
        rows = known_on(learnt.targets, axis)
        labels = learnt.targets[rows, axis]
        found = np.full((unknown.shape[0], len(names)), math.log(LEAST))
        if len(set(labels.tolist())) < 2:  # nothing to tell apart in this part of a small dataset
            found[:, labels[:1]] = 0.0
        else:
            model = make().fit(known[rows], labels)
            if hasattr(model, "predict_proba"):
                found[:, model.classes_] = np.log(model.predict_proba(unknown) + LEAST)
            else:
                found[np.arange(len(found)), model.predict(unknown)] = 0.0
        scores.append(found)
    return scores


_BATCH = 16


class _Given(nn.Module):  # type: ignore[misc]
    """In place of embeddings: takes what the lower half gave."""

    def forward(self, inputs_embeds: Tensor, **_: object) -> Tensor:
        return inputs_embeds


class SplitEncoder:
    def __init__(self, recipe: Recipe) -> None:
        try:
            with quietly():
                weights = find_weights(recipe.encoder)
                self._tokenizer = AutoTokenizer.from_pretrained(weights)
                whole = AutoModel.from_pretrained(weights, dtype=torch.float32)
        except DLBenchError:
            raise
        except Exception as error:  # a dozen kinds: no folder, no network, no weights, a damaged file
            raise cannot_load(recipe.encoder, error) from None
        layers = getattr(getattr(whole, "encoder", None), "layer", None)
        if layers is None or not hasattr(whole, "embeddings"):
            fix = "give an encoder of BERT's kind: minilm, BERT, RoBERTa, CodeBERT, MPNet, ELECTRA"
            raise DLBenchError("an encoder of a shape that cannot be cut in two", where=recipe.encoder, fix=fix)
        if recipe.frozen >= len(layers):
            fix = f"give --frozen {len(layers) - 1} or less"
            raise DLBenchError(f"it has {len(layers)} layers, so none would be tuned", where=recipe.encoder, fix=fix)
        whole.pooler = None
        self._tokens = min(recipe.tokens, _find_places(whole))
        self.width = int(whole.config.hidden_size)
        self._upper = deepcopy(whole)
        self._upper.embeddings = _Given()
        if hasattr(self._upper, "embeddings_project"):  # ELECTRA widens embeddings, and what is given is wide
            self._upper.embeddings_project = nn.Identity()
        self._upper.encoder.layer = self._upper.encoder.layer[recipe.frozen :]
        whole.encoder.layer = layers[: recipe.frozen]
        self._lower = whole.eval()

    def make_upper(self) -> Any:  # noqa: ANN401 - an encoder of transformers
        """A fresh copy, as the weights have it."""
        return deepcopy(self._upper)

    def lower(self, texts: Sequence[str], advance: Callable[[str], None]) -> list[Tensor]:
        """What the lower half gives: a row a token, a matrix a text."""
        ids = [self._tokenizer(text, truncation=True, max_length=self._tokens)["input_ids"] for text in texts]
        found: dict[int, Tensor] = {}
        with torch.inference_mode():
            for places in cut_by_length([len(one) for one in ids], _BATCH):
                padded = nn.utils.rnn.pad_sequence([torch.tensor(ids[place]) for place in places], batch_first=True)
                mask = make_mask([len(ids[place]) for place in places])
                given = self._lower(input_ids=padded, attention_mask=mask).last_hidden_state
                for row, place in enumerate(places):
                    found[place] = given[row, : len(ids[place])].clone()
                    advance("lower layers")
        return [found[place] for place in range(len(texts))]


def _find_places(whole: Any) -> int:  # noqa: ANN401 - an encoder of transformers
    """How many tokens have a place: RoBERTa and MPNet count from behind that of padding."""
    unused = getattr(getattr(whole.embeddings, "position_embeddings", None), "padding_idx", None)
    return int(getattr(whole.config, "max_position_embeddings", sys.maxsize)) - (0 if unused is None else unused + 1)


def pool(upper: Any, given: Sequence[Tensor]) -> Tensor:  # noqa: ANN401 - an encoder of transformers
    """The mean of the tokens' vectors, a row a text."""
    mask = make_mask([len(one) for one in given])
    padded = nn.utils.rnn.pad_sequence(list(given), batch_first=True)
    hidden = upper(inputs_embeds=padded, attention_mask=mask).last_hidden_state
    return (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)


def make_mask(lengths: Sequence[int]) -> Tensor:
    return (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()


def cut_by_length(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Places in batches of like length, so that little is padded."""
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    return [order[start : start + size] for start in range(0, len(order), size)]


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
    halves: SplitEncoder,
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


def make_untuned(halves: SplitEncoder, sizes: Sequence[int]) -> Tuned:
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
