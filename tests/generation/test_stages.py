"""A stage is predicted from words, by the votes of prompts like it."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.generation.techniques.stages import NearestPrompts

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
@pytest.mark.parametrize("voters", [1, 2, 5])
def test_prompts_of_like_words_decide(prompt: str, stage: str, voters: int) -> None:
    asked = instance(9, prompt, "inference")
    assert NearestPrompts([*KNOWN, asked], voters).predict(asked, KNOWN) == stage


def test_only_those_given_as_known_may_vote() -> None:
    asked = instance(9, "learning rate", "training")
    predictor = NearestPrompts([*KNOWN, asked])
    assert predictor.predict(asked, KNOWN[2:4]) == "evaluation_metrics"


def test_without_anything_known_it_is_an_error() -> None:
    with pytest.raises(DLBenchError, match="no other instance"):
        NearestPrompts([SAMPLE]).predict(SAMPLE, [])


ODD = st.text("ab éß文_1- ", min_size=1, max_size=12)


@given(st.lists(ODD, min_size=1, max_size=6), ODD, st.integers(0, 5))
@settings(deadline=None, max_examples=40)
def test_any_text_gets_the_same_stage_in_any_order(prompts: list[str], asked: str, turn: int) -> None:
    known = [instance(number, prompt, KNOWN[number % 5].labels.stage) for number, prompt in enumerate(prompts)]
    question = instance(99, asked, "inference")
    stage = NearestPrompts(known).predict(question, known)
    assert stage in {other.labels.stage for other in known}
    turned = known[turn:] + known[:turn]
    assert NearestPrompts(turned).predict(question, turned) == stage


def test_the_weights_are_those_worked_out_by_hand() -> None:
    """Three texts; `rate` stands in two of them, `loss` in one: cosine of `rate loss loss` and `rate`."""
    one, two, three = (instance(n, text, "training") for n, text in enumerate(["rate loss loss", "rate", "other"]))
    predictor = NearestPrompts([one, two, three])
    rate, loss = 1 + math.log(4 / 3), (1 + math.log(2)) * (1 + math.log(4 / 2))
    assert predictor._cosine(predictor._vector(one.prompt), two) == pytest.approx(rate / math.hypot(rate, loss))
