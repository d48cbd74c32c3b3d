"""A stage is predicted from words, by the votes of prompts like it."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.generation.techniques.stage_predictor import NearestPrompts, PredictedStages, hash_prompt

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


def keep(path, *instances: Instance, **changed: str) -> PredictedStages:
    lines = [
        {"instance": one.id, "prompt": hash_prompt(one.prompt), "stage": "inference"} | changed for one in instances
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return PredictedStages(path)


def test_what_a_classifier_said_is_taken_and_no_label_is_looked_at(tmp_path) -> None:
    assert keep(tmp_path / "p.jsonl", *KNOWN).predict(KNOWN[0], KNOWN[1:]) == "inference"


def test_a_stage_of_another_prompt_or_of_none_is_refused(tmp_path) -> None:
    kept = keep(tmp_path / "p.jsonl", *KNOWN)
    with pytest.raises(DLBenchError, match="from another prompt"):
        kept.predict(instance(0, "rewritten since", "training"), KNOWN)
    with pytest.raises(DLBenchError, match=r"no predicted stage of toy/toy\.f9"):
        kept.predict(instance(9, "new", "training"), KNOWN)


def test_a_file_of_something_else_is_refused_with_its_line(tmp_path) -> None:
    with pytest.raises(DLBenchError, match="not a predicted stage") as caught:
        keep(tmp_path / "p.jsonl", KNOWN[0], stage="sleeping")
    assert caught.value.where.endswith("p.jsonl:1")
