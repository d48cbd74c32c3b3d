"""A prompt that quotes code of the reference is reported; a paraphrase is not."""

import pytest

from dlbench.dataset.leakage import find_leaked_expressions, find_leaked_lines, find_leaks
from dlbench.dataset.loading import Kind
from dlbench.dataset.target import find_target
from dlbench.parsing import parse

SOURCE = '''def blend(a, b, weight=0.5, mode="clip"):
    """Mix the two arrays with a weight that says how much of the first one is to be kept in the end."""
    mixed = a * weight + b * (1 - weight)  # the mix
    result = numpy.clip(
        mixed, 0, 255
    )
    if mode == "wrap":
        result = wrap_around(a, b, weight, limits=self.limits, period=256)
    if mode == "fold":
        result = fold_over(a, b, mixed, period=256, strict=True)
    if mode not in MODES:
        raise ValueError("mode: " + ", ".join(sorted(MODES, key=len, reverse=True)))
    return rescale((result, [a.shape, b.shape]), scale=2)
'''
TARGET = find_target(SOURCE, "blend")


@pytest.mark.parametrize(
    "prompt",
    [
        "Compute mixed = a * weight + b * (1 - weight) first.",
        "Compute `mixed=a*weight+b*(1-weight)` first.",
        "Then result = numpy.clip(mixed, 0, 255) it is.",
    ],
)
def test_reference_line_is_found_whatever_its_spacing(prompt):
    assert find_leaked_lines(prompt, TARGET)


@pytest.mark.parametrize(
    "prompt",
    [
        "Return result, clipped.",
        "Mix `a` and `b` by `weight`, then limit to 0 and 255.",
        "mixed = a * weights",
        'def blend(a, b, weight=0.5, mode="clip"):',
    ],
)
def test_own_words_are_no_leak(prompt):
    assert find_leaks(prompt, parse(SOURCE), TARGET) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "The blend is `a * weight + b * (1 - weight)`, limited to 0 and 255.",
        "The blend is `(a*weight) + (b*(1-weight))`.",
        "The blend is a * weight + b * (1 - weight) at every place.",
        "Give back `rescale((result, [a.shape, b.shape]), scale=2)`.",
        'All modes, `", ".join(sorted(MODES, key=len, reverse=True))`.',
    ],
)
def test_reference_expression_is_found_in_code_span_and_sentence(prompt):
    (found,) = find_leaks(prompt, parse(SOURCE), TARGET)
    assert found.kind is Kind.PROMPT_LEAKS_CODE


def test_only_the_outermost_expression_is_reported():
    prompt = "Give `a * weight + b * (1 - weight)`, which is `a * weight + b * (1 - weight)`."
    assert find_leaked_expressions(prompt, TARGET) == ["a * weight + b * (1 - weight)"]
    assert len(find_leaks("mixed = a * weight + b * (1 - weight)", parse(SOURCE), TARGET)) == 1


def test_helper_call_with_plain_arguments_is_no_leak():
    prompt = "`wrap_around(a, b, weight, limits=self.limits, period=256)` does it for mode `wrap`."
    assert find_leaks(prompt, parse(SOURCE), TARGET) == []


def test_call_with_a_local_variable_of_the_reference_is_a_leak():
    prompt = "`fold_over(a, b, mixed, period=256, strict=True)` does it for mode `fold`."
    assert find_leaked_expressions(prompt, TARGET) == ["fold_over(a, b, mixed, period=256, strict=True)"]


def test_short_expression_is_no_leak():
    source = (
        "def empty(x, y):\n    total = x * y + x - y\n    more = x * y + x - y - 1\n    return [[]], [[]], [[], []]\n"
    )
    target = find_target(source, "empty")
    assert find_leaked_expressions("From `x * y + x - y` to `([[]], [[]], [[], []])`.", target) == []
    assert find_leaked_expressions("It is `x * y + x - y - 1`.", target) == ["x * y + x - y - 1"]
