"""A prompt that quotes the reference or its docstring is found; one that says the same in other words is not."""

import pytest

from dlbench.dataset.leaks import find_docstring_run, find_leaked_lines
from dlbench.dataset.target import find_target

SOURCE = '''def blend(a, b, weight=0.5):
    """Mix the two arrays with a weight that says how much of the first one is to be kept in the end."""
    mixed = a * weight + b * (1 - weight)  # the mix
    result = numpy.clip(
        mixed, 0, 255
    )
    return result
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
def test_a_line_of_the_reference_is_found_whatever_its_spacing(prompt):
    assert find_leaked_lines(prompt, TARGET)


@pytest.mark.parametrize(
    "prompt",
    [
        "Return result, clipped.",
        "Mix `a` and `b` by `weight`, then limit to 0 and 255.",
        "mixed = a * weights",
        "def blend(a, b, weight=0.5):",
    ],
)
def test_words_of_our_own_are_no_leak(prompt):
    assert find_leaked_lines(prompt, TARGET) == []


def test_twelve_words_of_the_docstring_are_a_quotation_and_eleven_are_not():
    words = TARGET.docstring.lower().rstrip(".").split()
    assert len(find_docstring_run(" ".join(["So", *words[:12]]), TARGET.docstring).split()) == 12
    assert find_docstring_run(" ".join([*words[:11], "otherwise"]), TARGET.docstring) == ""
    assert find_docstring_run("anything", None) == ""
