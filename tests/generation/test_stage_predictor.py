"""A stage is predicted by a vote of similar prompts, or read from a file."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.generation.techniques.examples import NearestPrompts, PredictedStages, hash_prompt

from .library import INSTANCES

SAMPLE = next(iter(INSTANCES.values()))


def instance(number: int, prompt: str, stage: str) -> Instance:
    labels = SAMPLE.labels.model_copy(update={"stage": stage})
    return SAMPLE.model_copy(update={"id": f"toy/toy.f{number}", "prompt": prompt, "labels": labels})


KNOWN = [
    instance(0, "optimizer step with momentum and learning rate", "training"),
    instance(1, "schedule of the learning rate over steps", "training"),
    instance(2, "precision and recall of predicted labels", "evaluation_metrics"),
    instance(3, "mean absolute error score of predictions", "evaluation_metrics"),
    instance(4, "attention layer with dropout", "model_construction"),
]


@pytest.mark.parametrize(
    ("prompt", "stage"),
    [
        ("lower the learning rate at every step", "training"),
        ("the F score, from precision and recall", "evaluation_metrics"),
        ("a residual layer around attention", "model_construction"),
    ],
)
@pytest.mark.parametrize("neighbours", [1, 2, 5])
def test_similar_prompts_decide(prompt: str, stage: str, neighbours: int) -> None:
    new = instance(9, prompt, "inference")
    assert NearestPrompts([*KNOWN, new], neighbours).predict(new, KNOWN) == stage


def test_only_known_instances_vote() -> None:
    new = instance(9, "learning rate", "training")
    predictor = NearestPrompts([*KNOWN, new])
    assert predictor.predict(new, KNOWN[2:4]) == "evaluation_metrics"


def test_no_known_instance_is_an_error() -> None:
    with pytest.raises(DLBenchError, match="no other instance"):
        NearestPrompts([SAMPLE]).predict(SAMPLE, [])


ODD = st.text("ab éß文_1- ", min_size=1, max_size=12)


@given(st.lists(ODD, min_size=1, max_size=6), ODD, st.integers(0, 5))
@settings(max_examples=40)
def test_prediction_does_not_depend_on_the_order(prompts: list[str], text: str, turn: int) -> None:
    known = [instance(number, prompt, KNOWN[number % 5].labels.stage) for number, prompt in enumerate(prompts)]
    question = instance(99, text, "inference")
    stage = NearestPrompts(known).predict(question, known)
    assert stage in {other.labels.stage for other in known}
    turned = known[turn:] + known[:turn]
    assert NearestPrompts(turned).predict(question, turned) == stage


def test_weights_equal_a_calculation_by_hand() -> None:
    """Three texts; `rate` occurs in two of them, `loss` in one: cosine of `rate loss loss` and `rate`."""
    one, two, three = (instance(n, text, "training") for n, text in enumerate(["rate loss loss", "rate", "other"]))
    predictor = NearestPrompts([one, two, three])
    rate, loss = 1 + math.log(4 / 3), (1 + math.log(2)) * (1 + math.log(4 / 2))
    assert predictor._cosine(predictor._vector(one.prompt), two) == pytest.approx(rate / math.hypot(rate, loss))


def predictions(path, *instances: Instance, **changed: str) -> PredictedStages:
    lines = [
        {"instance": one.id, "prompt": hash_prompt(one.prompt), "stage": "inference"} | changed for one in instances
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return PredictedStages(path)


def test_predictions_of_a_file_are_used_instead_of_labels(tmp_path) -> None:
    assert predictions(tmp_path / "p.jsonl", *KNOWN).predict(KNOWN[0], KNOWN[1:]) == "inference"


def test_stage_of_a_changed_or_unknown_prompt_is_refused(tmp_path) -> None:
    stages = predictions(tmp_path / "p.jsonl", *KNOWN)
    with pytest.raises(DLBenchError, match="from another prompt"):
        stages.predict(instance(0, "rewritten since", "training"), KNOWN)
    with pytest.raises(DLBenchError, match=r"no predicted stage of toy/toy\.f9"):
        stages.predict(instance(9, "new", "training"), KNOWN)


def test_invalid_line_of_predictions_is_named(tmp_path) -> None:
    with pytest.raises(DLBenchError, match="not a predicted stage") as caught:
        predictions(tmp_path / "p.jsonl", KNOWN[0], stage="sleeping")
    assert caught.value.where.endswith("p.jsonl:1")
