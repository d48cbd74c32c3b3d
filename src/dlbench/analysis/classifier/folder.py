"""How is a trained classifier kept, and asked again?

A folder: the recipe and labels, the tuned layers (safetensors: numbers only, so that a folder from somebody else runs
no code), and the prompts it learnt from, from which the linear half is made again in a second. The layers that were not
tuned are the encoder's own and are not copied.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dlbench.analysis.classifier.baselines import add_up, weigh_words
from dlbench.analysis.classifier.evaluation import name_answers
from dlbench.analysis.classifier.labelled import AXES, Prompts
from dlbench.analysis.classifier.recipe import Recipe
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, rewrite, write_whole

_CONFIG, _LEARNT, _WEIGHTS = "classifier.json", "prompts.jsonl", "tuned.safetensors"
_MEND = "give a folder that `dlbench analyze stage train` wrote, or train again"

Told = Callable[[str], None]


def train(prompts: Prompts, recipe: Recipe, folder: Path, told: Told) -> None:
    """Learns from all prompts. The configuration is written last: a folder without it is not whole."""
    from safetensors.torch import save_file

    from dlbench.analysis.classifier.halves import Halves
    from dlbench.analysis.classifier.tuning import tune

    halves = Halves(recipe)
    given = halves.lower(prompts.texts, told)
    sizes = [len(names) for names in prompts.classes]
    tuned = tune(halves, given, prompts.targets, sizes, recipe, told)
    parts = {"upper": tuned.upper, "heads": tuned.heads}
    weights = {f"{name}.{key}": value for name, part in parts.items() for key, value in part.state_dict().items()}
    (folder / _CONFIG).unlink(missing_ok=True)
    save_file({key: value.contiguous() for key, value in weights.items()}, folder / _WEIGHTS)
    rows = zip(prompts.ids, prompts.texts, prompts.targets.tolist(), strict=True)
    rewrite(folder / _LEARNT, ({"id": id, "prompt": text, "targets": targets} for id, text, targets in rows))
    config = {
        "recipe": asdict(recipe),
        "classes": dict(zip(AXES, prompts.classes, strict=True)),
        "weights": _hash(folder / _WEIGHTS),
        "prompts": _hash(folder / _LEARNT),
    }
    write_whole(folder / _CONFIG, json.dumps(config, indent=2) + "\n")


def predict(folder: Path, ids: Sequence[str], texts: Sequence[str], told: Told) -> dict[str, dict[str, str]]:
    """By id, the label on each axis."""
    from safetensors.torch import load_file

    from dlbench.analysis.classifier.halves import Halves
    from dlbench.analysis.classifier.tuning import make_untuned, score

    recipe, learnt = _read(folder)
    halves = Halves(recipe)
    tuned = make_untuned(halves, [len(names) for names in learnt.classes])
    try:
        weights = load_file(folder / _WEIGHTS)
        for name, part in (("upper", tuned.upper), ("heads", tuned.heads)):
            head = f"{name}."
            part.load_state_dict({key.removeprefix(head): one for key, one in weights.items() if key.startswith(head)})
    except Exception as error:  # what safetensors and torch raise for damaged or foreign weights
        what = f"the tuned layers cannot be loaded: {str(error).splitlines()[0]}"
        raise DLBenchError(what, where=str(folder / _WEIGHTS), mend=_MEND) from None
    unlabelled = np.full((len(ids), len(AXES)), -1, dtype=np.int64)
    asked = Prompts(tuple(ids), tuple(texts), learnt.classes, unlabelled)
    return name_answers(asked, add_up(weigh_words(learnt, asked), score(tuned, halves.lower(texts, told))))


def _read(folder: Path) -> tuple[Recipe, Prompts]:
    path = folder / _CONFIG
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        recipe = Recipe(**config["recipe"])
        classes = tuple(tuple(map(str, config["classes"][axis])) for axis in AXES)
        hashes = {_WEIGHTS: config["weights"], _LEARNT: config["prompts"]}
    except OSError as error:
        raise DLBenchError(f"there is no classifier here: {error.strerror}", where=str(path), mend=_MEND) from None
    except (ValueError, KeyError, TypeError) as error:
        raise DLBenchError(f"not a classifier's record: {error!r}", where=str(path), mend=_MEND) from None
    for name, known in hashes.items():
        if not (folder / name).is_file() or _hash(folder / name) != known:
            raise DLBenchError("missing, or changed since it was written", where=str(folder / name), mend=_MEND)
    records = [record for _, record in read_lines(folder / _LEARNT)]
    targets = np.array([record["targets"] for record in records], dtype=np.int64)
    ids, texts = tuple(record["id"] for record in records), tuple(record["prompt"] for record in records)
    return recipe, Prompts(ids, texts, classes, targets)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
