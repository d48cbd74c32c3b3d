"""A model sees one set of names: in the task, the signature, the skeleton and the closing line."""

from dlbench.agreement.answers import show_question
from dlbench.agreement.variants import Variant
from dlbench.dataset.target import find_target
from dlbench.generation.techniques import find_technique, make_question
from dlbench.parsing import parse
from tests.agreement.instances import SOURCE, make_instance


def test_signature_shows_the_variant_names():
    variant = Variant("toy/toy.core.scale", 1, "x", "Words.", "f1", {"factor": "multiplier"})
    shown = show_question(make_instance(), SOURCE, variant).signature
    assert shown == "def f1(img, multiplier: float=2.5, *, strict: bool=False) -> np.ndarray:"


def test_method_has_one_name_in_the_whole_prompt():
    instance = make_instance("Words.", "Net.step")
    variant = Variant(instance.id, 1, "x", "Other words.", "f1", {"by": "amount"})
    question = show_question(instance, SOURCE, variant)
    assert "def f1(self, amount, times=1):  # the one to write" in question.skeleton
    assert "again = f1" in question.skeleton
    [[_, asked]] = find_technique("zero-shot").render(question, ())
    assert "method `f1` of the class `Net`" in asked["content"]
    assert "Module: toy.core\n" in asked["content"]
    assert "Other words." in asked["content"]
    assert "step" not in asked["content"]


def test_original_variant_shows_the_instance():
    instance = make_instance("Words.", "Net.step")
    variant = Variant(instance.id, 0, "original", "Words.", "step")
    assert show_question(instance, SOURCE, variant) == make_question(
        instance, parse(SOURCE), find_target(SOURCE, "Net.step")
    )
