"""Each category that the status, the error or undefined names reveal is recognised, with a reason."""

import tomllib
from pathlib import Path

import pytest

from dlbench.analysis.bugs.rules import classify, hit_by_error
from dlbench.analysis.bugs.taxonomy import read_categories
from dlbench.generation.techniques import catalogue
from tests.analysis.bugs.made import BODY, CHECK, HEADER, find_evidence, inside

RIGHT = HEADER + CHECK + BODY
CASES = {
    "framework": ("misinterpretation", HEADER + "    import torch\n    return torch.tensor(values)\n", "ModuleNotFoundError: No module named 'torch'", inside(2)),
    "echo": ("misinterpretation", HEADER + "    return values\n", "AssertionError: assert [1] == [2]", ()),
    "no return": ("silly_mistake", HEADER + CHECK + "    return\n", "AssertionError: assert None == [2]", ()),
    "no refusal": ("missing_corner_case", HEADER + BODY, "Failed: DID NOT RAISE ValueError", ()),
    "argument": ("wrong_input_type", RIGHT.replace("in values", "in sorted(values, axis=0)"), "TypeError: sort() got an unexpected keyword argument 'axis'", inside(4)),
    "helper": ("hallucinated_object", HEADER + "    return multiply_all(values, factor)\n", "NameError: name 'multiply_all' is not defined", inside(2)),
    "module": ("hallucinated_object", HEADER + "    import list_tools\n    return list_tools.scale(values)\n", "ModuleNotFoundError: No module named 'list_tools'", inside(2)),
    "attribute": ("wrong_attribute", HEADER + "    return values.scaled(factor)\n", "AttributeError: 'list' object has no attribute 'scaled'", inside(2)),
    "import": ("wrong_attribute", HEADER + "    from toy.base import SHIFT\n" + BODY, "ImportError: cannot import name 'SHIFT' from 'toy.base'", inside(2)),
    "check": ("non_prompted", HEADER + "    if len(values) > 1:\n        raise TypeError('too long')\n" + CHECK + BODY, "TypeError: too long", inside(3)),
    "variable": ("undefined_reference", RIGHT.replace("in values", "in items"), "NameError: name 'items' is not defined", inside(4)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_category_is_found_with_a_reason(toy, name):
    category, code, error, frames = CASES[name]
    found = classify(find_evidence(toy, code, error, frames=frames))
    assert found.category == category, found
    assert found.reasons
    assert 0 < found.confidence <= 1


RAISED = {
    "RuntimeError: shape '[2, 3]' is invalid for input of size 7": ("operation_error", "shape"),
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x3 and 5x4)": ("operation_error", "shape"),
    "RuntimeError: stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1": ("operation_error", "shape"),
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1": ("operation_error", "shape"),
    "ValueError: cannot reshape array of size 6 into shape (4,2)": ("operation_error", "shape"),
    "InvalidArgumentError: Matrix size-incompatible: In[0]: [2,3], In[1]: [4,5] [Op:MatMul]": ("operation_error", "shape"),
    "TypeError: dot_general requires contracting dimensions to have the same shape, got (3,) and (4,).": ("operation_error", "shape"),
    "RuntimeError: Given groups=1, weight of size [8, 3, 3, 3], expected input[1, 4, 8, 8] to have 3 channels, but got 4 channels instead": ("wrong_input_type", "shape"),
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices": ("wrong_input_type", "type"),
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn": ("wrong_input_type", "type"),
    "RuntimeError: Boolean value of Tensor with more than one value is ambiguous": ("operation_error", ""),
    "jax.errors.TracerArrayConversionError: The numpy.ndarray conversion method __array__() was called on traced array": ("wrong_input_type", "type"),
    "numpy.linalg.LinAlgError: Singular matrix": ("missing_corner_case", "value"),
}  # fmt: skip


@pytest.mark.parametrize("error", RAISED)
def test_framework_errors_are_recognised(toy, error):
    """These errors are raised in C: the last frame is the candidate's, so only the message helps."""
    category, kind = RAISED[error]
    evidence = find_evidence(toy, None, error, frames=inside(2))
    assert classify(evidence).category == category
    # The toy function uses no arrays, so `classify` gives the subcategory `other`.
    strongest = max(hit_by_error(evidence), key=lambda hit: hit.points)
    assert not kind or strongest.kind == kind


@pytest.mark.parametrize(
    ("status", "category"),
    [
        ("syntax_error", "syntax_error"),
        ("timeout", "performance"),
        ("out_of_memory", "performance"),
        ("no_code", "misinterpretation"),
        ("missing_target", "misinterpretation"),
    ],
)
def test_status_alone_can_decide(toy, status, category):
    assert classify(find_evidence(toy, None, "", status=status)).category == category


def test_categories_match_those_of_the_bug_warnings():
    known = tomllib.loads(Path(catalogue.__file__).with_name("bugs.toml").read_text(encoding="utf-8"))["bug"]
    assert {one.name: one.seen for one in read_categories().values()} == {bug["kind"]: bug["seen"] for bug in known}


def test_subcategory_counts_add_up():
    assert len(read_categories()) == 14
    for category in read_categories().values():
        assert sum(category.kinds.values()) == category.seen, category.slug
