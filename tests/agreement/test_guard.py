"""A wording that asks for something else is refused, with the reason; one that asks for the same is not."""

import pytest

from dlbench.agreement.mutation.base import Original, Paraphrase
from dlbench.agreement.mutation.meaning_guard import CharacterSimilarity, find_violation
from tests.agreement.made import SOURCE, TASK, make_instance

ORIGINAL = Original(make_instance(), SOURCE)

PLANTED = {
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


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_change_of_meaning_is_refused_with_its_reason(planted):
    old, new, reason = PLANTED[planted]
    task = TASK.replace(old, new) if old in TASK else f"{TASK} It is {new}."
    fault = find_violation(ORIGINAL, Paraphrase(task, "scale"), CharacterSimilarity())
    assert fault
    assert reason in fault


def test_two_things_that_changed_places_are_refused():
    task = "Divide `x` by `y` along axis 0, then sum along axis 1."
    original = Original(make_instance(task))
    for wrong in (
        "Divide `y` by `x` along axis 0, then sum along axis 1.",
        "Divide `x` by `y` along axis 1, then sum along axis 0.",
    ):
        assert "another order" in find_violation(original, Paraphrase(wrong, "scale"), CharacterSimilarity())


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


@pytest.mark.parametrize("planted", MOVED)
def test_what_is_said_of_something_else_is_refused(planted):
    """The words may be the same ones, and as many."""
    before, after = (
        f"{part} The result is given back as a copy, with its values as they were." for part in MOVED[planted]
    )
    assert find_violation(Original(make_instance(before)), Paraphrase(after, "scale"), CharacterSimilarity())
    assert find_violation(Original(make_instance(before)), Paraphrase(before, "scale"), CharacterSimilarity()) == ""


def test_a_sentence_that_is_left_out_is_refused():
    lost = "Broken records that the sensor marks are repaired beforehand."
    task = f"Return the sum of `x` over axis 0. {lost} The result has the shape of one row of the input."
    fault = find_violation(
        Original(make_instance(task)), Paraphrase(task.replace(f"{lost} ", ""), "scale"), CharacterSimilarity()
    )
    assert "a sentence is lost" in fault


def test_a_denial_may_move_against_what_it_denies():
    original = Original(make_instance("Do not change `x` along axis 0. Return the sum."))
    passive = "`x` must not be changed along axis 0. Return the sum."
    assert find_violation(original, Paraphrase(passive, "scale"), CharacterSimilarity()) == ""


def test_sentences_may_change_places_and_be_joined():
    original = Original(make_instance("`a` is a list of 3 ints. `b` is a float."))
    for fine in ("`b` is a float. `a` is a list of 3 ints.", "`a` is a list of 3 ints and `b` is a float."):
        assert find_violation(original, Paraphrase(fine, "scale"), CharacterSimilarity()) == ""


def test_what_has_an_opposite_may_be_said_otherwise():
    """Only a word that goes while its opposite comes has turned something round."""
    for before, fine in (
        ("Return a copy of the same kind as `x`.", "Return a copy of an identical kind as `x`."),
        ("Flip `x` horizontally.", "Flip `x` in horizontal direction."),
        ("At the start of `x` keep the entries.", "At the beginning of `x` retain the entries."),
    ):
        texts = (f"{part} The result holds its values as they were, whatever it is called." for part in (before, fine))
        original, wording = next(texts), next(texts)
        assert (
            find_violation(Original(make_instance(original)), Paraphrase(wording, "scale"), CharacterSimilarity()) == ""
        )


def test_other_words_for_the_same_pass():
    task = TASK.replace("Compute", "Calculate").replace("return it", "give it back").replace("entry", "element")
    assert find_violation(ORIGINAL, Paraphrase(task, "scale"), CharacterSimilarity()) == ""


@pytest.mark.parametrize("text", ["", "  \n", "I cannot help with that.", "Compute something."], ids=["empty", "blank", "refusal", "short"])  # fmt: skip
def test_a_text_that_says_next_to_nothing_is_refused(text):
    assert find_violation(ORIGINAL, Paraphrase(text, "scale"), CharacterSimilarity())


def test_a_text_about_something_else_with_the_same_facts_is_refused():
    original = Original(
        make_instance("Translate the sentence into another language, word by word, as a dictionary would do.")
    )
    fault = find_violation(original, Paraphrase("Whoever climbs mountains as a dictionary does gets tired quickly, they believe.", "scale"), CharacterSimilarity())  # fmt: skip
    assert "similarity" in fault


@pytest.mark.parametrize("name", ["smooth", "np", "class", "list", "two words", "img", "factor"])
def test_a_name_that_is_taken_or_none_is_refused(name):
    assert "name" in find_violation(ORIGINAL, Paraphrase(TASK, name), CharacterSimilarity())


def test_two_parameters_may_not_get_one_name():
    wording = Paraphrase(TASK, "scale", {"img": "same_name", "factor": "same_name"})
    assert find_violation(ORIGINAL, wording, CharacterSimilarity()) == "two things have one name"


def test_a_text_that_still_speaks_of_the_old_parameter_and_the_new_one_is_judged_under_one_name():
    renamed = TASK.replace("`factor`", "`multiplier`")
    assert find_violation(ORIGINAL, Paraphrase(renamed, "scale", {"factor": "multiplier"}), CharacterSimilarity()) == ""
    assert "code" in find_violation(ORIGINAL, Paraphrase(renamed, "scale"), CharacterSimilarity())
