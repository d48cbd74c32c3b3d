"""A paraphrase that changes the task is rejected with the reason; one that keeps it is not."""

import pytest

from dlbench.agreement.mutation.base import Original, Paraphrase
from dlbench.agreement.mutation.meaning_guard import CHARACTERS, find_violation
from tests.agreement.instances import SOURCE, TASK, make_instance

ORIGINAL = Original(make_instance(), SOURCE)

INJECTED = {
    "dropped number": ("(default 2.5) ", "", "a number"),
    "changed number": ("0..255", "0..256", "a number"),
    "changed axis number": ("axis 1", "axis 0", "a number"),
    "changed axis word": ("number of columns", "number of rows", "an axis"),
    "lost denial": ("Do not change", "Change", "negations"),
    "added denial": ("is a float", "is not a float", "negations"),
    "contracted denial added": ("is a float", "isn't a float", "negations"),
    "denial by prefix": ("nothing is checked", "nothing is unchecked", "negation"),
    "lost prefix": ("a negative entry", "a positive entry", "a direction"),
    "changed shape": ("(H, W, C)", "(C, H, W)", "a shape"),
    "changed string": ("non-negative values", "nonnegative values", "a quoted string"),
    "changed code": ("`smooth(img, sigma=1)`", "`smooth(img)`", "code"),
    "exchanged code": ("`factor` (default 2.5) is", "`img` (default 2.5) is", "code"),
    "changed type": ("uint8 array", "uint8 tensor", "a type"),
    "changed dtype": ("uint8", "uint16", "a name"),
    "changed error": ("raises ValueError", "raises TypeError", "a name"),
    "changed name": ("Gaussian", "Laplacian", "a name"),
    "changed value": ("if True", "if False", "a name"),
    "changed measure": ("weighted mean", "weighted median", "a direction"),
    "new name": ("returned", "returned as `y`", ""),
}


@pytest.mark.parametrize("injected", INJECTED)
def test_injected_change_of_meaning_is_rejected_with_its_reason(injected):
    old, new, reason = INJECTED[injected]
    task = TASK.replace(old, new) if old in TASK else f"{TASK} It is {new}."
    violation = find_violation(ORIGINAL, Paraphrase(task, "scale"), CHARACTERS)
    assert violation
    assert reason in violation


def test_swapped_operands_are_rejected():
    task = "Divide `x` by `y` along axis 0, then sum along axis 1."
    original = Original(make_instance(task))
    for wrong in (
        "Divide `y` by `x` along axis 0, then sum along axis 1.",
        "Divide `x` by `y` along axis 1, then sum along axis 0.",
    ):
        assert "order of statements" in find_violation(original, Paraphrase(wrong, "scale"), CHARACTERS)


MOVED = {
    "a denial": ("Do not change `x`. Clip `y` to the range.", "Change `x`. Do not clip `y` to the range."),
    "measures": ("Subtract the minimum of `x`, divide by the maximum of `y`.", "Subtract the maximum of `x`, divide by the minimum of `y`."),
    "acts": ("`x` is multiplied and `y` is divided by the mean.", "`x` is divided and `y` is multiplied by the mean."),
    "types": ("Return a list for `x` and a tuple for `y`.", "Return a tuple for `x` and a list for `y`."),
    "a bound": ("Entries greater than or equal to `x` are kept.", "Entries greater than `x` are kept."),
    "how many": ("Raise ValueError if all entries are odd.", "Raise ValueError if any entries are odd."),
    "a conjunction": ("Keep boxes above `x` and in `y`.", "Keep boxes above `x` or in `y`."),
    "an obligation": ("The output must be of the dtype of `x`.", "The output may be of the dtype of `x`."),
    "rounding": ("Divide `x` by 2 and round up.", "Divide `x` by 2 and round down."),
    "a numeral": ("Split `x` into twelve parts.", "Split `x` into twenty parts."),
    "an ordinal": ("Begin with the fourth entry of `x`.", "Begin with the fifth entry of `x`."),
    "a turn": ("Rotate `x` clockwise.", "Rotate `x` anticlockwise."),
    "presence": ("If the key is present in `x`, return it.", "If the key is missing in `x`, return it."),
    "an axis in an adverb": ("Flip `x` horizontally.", "Flip `x` vertically."),
    "a lost axis in an adverb": ("Flip `x` horizontally.", "Flip `x`."),
    "two axes in adverbs": ("Flip `x` vertically and `y` horizontally.", "Flip `x` horizontally and `y` vertically."),
    "an aim": ("The loss of `x` is to be minimised.", "The loss of `x` is to be maximised."),
    "a border": ("The last border of `x` is to be included.", "The last border of `x` is to be excluded."),
    "a bound in a verb": ("The result includes the borders of `x`.", "The result excludes the borders of `x`."),
    "a change": ("Increase `x` by the step.", "Decrease `x` by the step."),
    "likeness": ("Both are of the same kind as `x`.", "Both are of a different kind than `x`."),
    "a case": ("Convert `x` to lowercase.", "Convert `x` to uppercase."),
    "an end": ("Stop at the end of `x`.", "Stop at the beginning of `x`."),
    "a length": ("Pad to the longest text in `x`.", "Pad to the shortest text in `x`."),
    "a way back": ("Encode the text in `x`.", "Decode the text in `x`."),
    "a removal": ("Keep the entries that `x` marks.", "Remove the entries that `x` marks."),
    "what is kept": ("Keep the entries that `x` marks.", "Drop the entries that `x` marks."),
}  # fmt: skip


@pytest.mark.parametrize("injected", MOVED)
def test_reversed_or_moved_statement_is_rejected(injected):
    """Even if the words are the same and as many."""
    before, after = (
        f"{part} The result is given back as a copy, with its values as they were." for part in MOVED[injected]
    )
    assert find_violation(Original(make_instance(before)), Paraphrase(after, "scale"), CHARACTERS)
    assert find_violation(Original(make_instance(before)), Paraphrase(before, "scale"), CHARACTERS) == ""


def test_missing_sentence_is_rejected():
    lost = "Broken records that the sensor marks are repaired beforehand."
    task = f"Return the sum of `x` over axis 0. {lost} The result has the shape of one row of the input."
    violation = find_violation(
        Original(make_instance(task)), Paraphrase(task.replace(f"{lost} ", ""), "scale"), CHARACTERS
    )
    assert "a sentence is lost" in violation


def test_negation_may_move_past_its_object():
    original = Original(make_instance("Do not change `x` along axis 0. Return the sum."))
    passive = "`x` must not be changed along axis 0. Return the sum."
    assert find_violation(original, Paraphrase(passive, "scale"), CHARACTERS) == ""


def test_sentences_may_be_reordered_and_joined():
    original = Original(make_instance("`a` is a list of 3 ints. `b` is a float."))
    for fine in ("`b` is a float. `a` is a list of 3 ints.", "`a` is a list of 3 ints and `b` is a float."):
        assert find_violation(original, Paraphrase(fine, "scale"), CHARACTERS) == ""


def test_word_with_an_opposite_may_be_paraphrased():
    """Only a word that is replaced by its opposite reverses the meaning."""
    for before, fine in (
        ("Return a copy of the same kind as `x`.", "Return a copy of an identical kind as `x`."),
        ("Flip `x` horizontally.", "Flip `x` in horizontal direction."),
        ("At the start of `x` keep the entries.", "At the beginning of `x` retain the entries."),
    ):
        texts = (f"{part} The result holds its values as they were, whatever it is called." for part in (before, fine))
        original, paraphrase = next(texts), next(texts)
        assert find_violation(Original(make_instance(original)), Paraphrase(paraphrase, "scale"), CHARACTERS) == ""


def test_synonyms_pass():
    task = TASK.replace("Compute", "Calculate").replace("return it", "give it back").replace("entry", "element")
    assert find_violation(ORIGINAL, Paraphrase(task, "scale"), CHARACTERS) == ""


@pytest.mark.parametrize("text", ["", "  \n", "I cannot help with that.", "Compute something."], ids=["empty", "blank", "refusal", "short"])  # fmt: skip
def test_empty_or_short_text_is_rejected(text):
    assert find_violation(ORIGINAL, Paraphrase(text, "scale"), CHARACTERS)


def test_unrelated_text_with_the_same_facts_is_rejected():
    original = Original(
        make_instance("Translate the sentence into another language, word by word, as a dictionary would do.")
    )
    violation = find_violation(original, Paraphrase("Whoever climbs mountains as a dictionary does gets tired quickly, they believe.", "scale"), CHARACTERS)  # fmt: skip
    assert "similarity" in violation


@pytest.mark.parametrize("name", ["smooth", "np", "class", "list", "two words", "img", "factor"])
def test_taken_or_invalid_name_is_rejected(name):
    assert "name" in find_violation(ORIGINAL, Paraphrase(TASK, name), CHARACTERS)


def test_two_parameters_must_not_share_a_name():
    paraphrase = Paraphrase(TASK, "scale", {"img": "same_name", "factor": "same_name"})
    assert find_violation(ORIGINAL, paraphrase, CHARACTERS) == "two names became one"


def test_renamed_parameter_is_compared_under_its_old_name():
    renamed = TASK.replace("`factor`", "`multiplier`")
    assert find_violation(ORIGINAL, Paraphrase(renamed, "scale", {"factor": "multiplier"}), CHARACTERS) == ""
    assert "code" in find_violation(ORIGINAL, Paraphrase(renamed, "scale"), CHARACTERS)
