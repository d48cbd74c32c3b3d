"""Every operator changes what it says it changes, and what carries the meaning survives."""

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.agreement.mutation import OPERATORS
from dlbench.agreement.mutation.base import NotApplicable, Original, Paraphrase
from dlbench.agreement.mutation.meaning_guard import CharacterSimilarity, find_violation
from dlbench.agreement.mutation.text import parse_prompt, replace_pieces
from dlbench.dataset import load
from tests.agreement.made import SOURCE, TASK, make_instance

RULES = [name for name, operator in OPERATORS.items() if operator.change is not None]


def change(name: str, task: str = TASK, seed: int = 0, source: str = SOURCE, qualname: str = "scale") -> Paraphrase:
    rule = OPERATORS[name].change
    assert rule is not None
    return rule(Original(make_instance(task, qualname), source), Random(seed))


def every(name: str, task: str) -> set[str]:
    return {change(name, task, seed).task for seed in range(12)}


@pytest.mark.parametrize("name", RULES)
def test_what_carries_the_meaning_survives(name):
    wording = change(name)
    assert wording != Paraphrase(TASK, "scale")
    assert find_violation(Original(make_instance(), SOURCE), wording, CharacterSimilarity()) == ""
    for kept in ("(H, W, C)", "0..255", "2.5", "ValueError", '"scale needs non-negative values"', "axis 1", "Gaussian"):
        assert kept.lower() in wording.task.lower()
        assert kept in wording.task or name == "upper-case"


@pytest.mark.parametrize("name", RULES)
def test_a_seed_always_draws_the_same(name):
    assert change(name, seed=3) == change(name, seed=3)


def test_verbs_are_exchanged_in_their_form_and_nouns_are_not():
    assert every("verbs", "It computes the sum.") == {"It calculates the sum.", "It determines the sum."}
    assert every("verbs", "Raise ValueError if `x` is empty.") == {"Throw ValueError if `x` is empty."}
    for kept in ("Raise `x` to the power 2.", "The return of `x` is an int.", "`x` need not be sorted."):
        with pytest.raises(NotApplicable):
            change("verbs", kept)


def test_synonyms_keep_capital_and_article_and_leave_fixed_phrases():
    assert every("synonyms", "Give an image.") == {"Give a picture."}
    assert every("synonyms", "Images are kept.") == {"Pictures are kept."}
    with pytest.raises(NotApplicable):
        change("synonyms", "Round to a whole number, element by element, and keep `image` and image_size.")


def test_upper_case_leaves_code_names_strings_and_shapes():
    task = 'Give `x` of shape (n, k) back as NumPy array, or raise ValueError "not good" for None.'
    assert (
        change("upper-case", task).task
        == 'GIVE `x` OF SHAPE (n, k) BACK AS NumPy ARRAY, OR RAISE ValueError "not good" FOR None.'
    )


def test_a_word_in_which_no_two_letters_differ_is_not_mistyped():
    with pytest.raises(NotApplicable, match="no word is long enough"):
        change("typos", "Do it with `x` as xxxxxxx.")
    assert change("typos", "Do it with `x` as xxxxxxx counted.").task.startswith("Do it with `x` as xxxxxxx ")


def test_typos_are_few_and_never_in_a_word_that_counts():
    for seed in range(20):
        before, after = TASK.split(), change("typos", seed=seed).task.split()
        slips = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
        assert 1 <= len(slips) <= 3
        for old, new in slips:
            assert sorted(old) == sorted(new)
            assert old.strip(".,;") not in {"negative", "columns", "Without", "nothing", "values"}


def test_orders_become_statements():
    assert (
        change("declarative", "Compute the mean and return it.").task
        == "The function must compute the mean and return it."
    )
    assert change("declarative", "Do not use `x`.").task == "The function must not use `x`."
    assert change("declarative", "Never return the input.").task == "The function must never return the input."
    method = change("declarative", "Return the mean.", qualname="Net.step")
    assert method.task == "The method must return the mean."


def test_orders_become_questions():
    assert every("questions", "Return the mean. `x` is an int.") == {
        f"{opening} return the mean? `x` is an int." for opening in ("Could you", "Can you", "Would you")
    }


def test_what_is_no_order_is_left_alone():
    for task in (
        "Mean of the rows.",
        "Sum of `x` over axis 1.",
        "Set of all labels.",
        "`x` is an int.",
        "Score per class.",
    ):
        for name in ("declarative", "questions", "passive"):
            with pytest.raises(NotApplicable):
                change(name, task)


def test_orders_become_passive_where_the_object_ends_for_sure():
    assert change("passive", "Return the mean if `x` is set.").task == "The mean must be returned if `x` is set."
    assert change("passive", "Set `x` to 3.").task == "`x` must be set to 3."
    for doubtful in (
        "Compute the mean and return it.",
        "Return a list that holds `x`.",
        "Rescale an image with care, and return a new array.",
        "Return a frame of the same kind as `x`.",
    ):
        with pytest.raises(NotApplicable):
            change("passive", doubtful)


def test_only_independent_sentences_change_places():
    assert every("reorder", "Sum up. `a` is 1. `b` is 2.") == {"Sum up. `b` is 2. `a` is 1."}
    assert every("reorder", "`a` is 1. It is kept. `b` is 2.") == {"`b` is 2. `a` is 1. It is kept."}
    for dependent in ("`a` is 1. `b` is the same.", "`a` is 1. `b` is 2. Both are kept.", "Sum up. Then stop."):
        with pytest.raises(NotApplicable):
            change("reorder", dependent)


def test_paragraphs_change_places_whole():
    task = "Sum up.\n\n`a` may be:\n- 1: no;\n- 2: yes.\n\n`b` is 2."
    assert every("reorder", task) == {"Sum up.\n\n`b` is 2.\n\n`a` may be:\n- 1: no;\n- 2: yes."}


def test_the_function_is_renamed_in_code_and_not_in_strings():
    task = 'Scale it as `scale` does; `scale(x)` and `other.scale` and "scale is bad" and to scale.'
    wording = change("name-neutral", task)
    assert wording.function == "f1"
    assert wording.task == 'Scale it as `f1` does; `f1(x)` and `other.scale` and "scale is bad" and to scale.'


def test_the_neutral_name_is_a_free_one():
    assert change("name-neutral", source=SOURCE + "\n\ndef f1():\n    pass\n").function == "f2"


def test_a_method_of_the_base_class_keeps_its_name():
    wording = change("name-neutral", "Call `step` of the base class. Then `self.step(1)`.", qualname="Net.step")
    assert wording.task == "Call `step` of the base class. Then `self.f1(1)`."


def test_what_python_itself_calls_has_no_other_name():
    for name in ("name-neutral", "name-descriptive", "name-misleading"):
        with pytest.raises(NotApplicable, match="__init__"):
            change(name, qualname="Net.__init__")


def test_a_descriptive_name_is_made_of_the_first_words():
    names = {change("name-descriptive", seed=seed).function for seed in range(12)}
    assert names == {"compute_weighted_mean", "compute_weighted_mean_each", "compute_weighted_mean_each_image"}


def test_a_misleading_name_shares_no_word_with_the_task():
    for seed in range(20):
        words = change("name-misleading", "Sort the rows of a table by random seed.", seed).function.split("_")
        assert not {"sort", "rows", "table", "random", "seed"} & set(words)


def test_parameters_are_renamed_only_where_nothing_else_can_be_meant():
    wording = change("parameter-names")
    assert wording.parameters == {"factor": "multiplier"}  # `img` stands in a call, `strict` beside a message
    assert "`multiplier` (default 2.5)" in wording.task
    assert "`smooth(img, sigma=1)`" in wording.task
    with pytest.raises(NotApplicable):
        change("parameter-names", "ValueError names the argument: `factor`, `img` or `strict`.")
    with pytest.raises(NotApplicable):
        change("parameter-names", source="")


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from(list("ab XY.`\"'()[],0-1_\n:é\0")), max_size=60))
def test_any_text_is_read_without_loss(text):
    reading = parse_prompt(text)
    assert len(reading.hidden) == len(text)
    for piece in (*reading.fixed, *reading.words, *reading.sentences):
        assert text[piece.start : piece.end] == piece.text
    assert replace_pieces(text, [(piece, piece.text) for piece in reading.words]) == text


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(RULES), st.text(max_size=80), st.integers(0, 9))
def test_no_text_breaks_a_rule(name, text, seed):
    try:
        wording = change(name, f"Return `x`. {text}", seed)
    except NotApplicable:
        return
    assert wording.task
    assert wording.task.count("`") == f"Return `x`. {text}".strip().count("`")


@pytest.mark.parametrize("name", [rule for rule in RULES if rule != "parameter-names"])
def test_on_real_prompts_what_a_rule_makes_passes_the_guard(name):
    """A third of the benchmark; all of it in `test_real_prompts.py`."""
    tried, refused = 0, []
    for instance in list(load().instances.values())[::3]:
        original = Original(instance)
        rule = OPERATORS[name].change
        assert rule is not None
        try:
            wording = rule(original, Random(0))
        except NotApplicable:
            continue
        tried += 1
        if fault := find_violation(original, wording, CharacterSimilarity()):
            refused.append((instance.id, fault))
    assert tried >= 3
    assert len(refused) <= tried / 10, refused


def test_every_operator_says_what_it_is():
    assert len(OPERATORS) == 13
    for name, operator in OPERATORS.items():
        assert name == operator.name
        assert operator.summary
        assert operator.change is not None or operator.order
        assert re.fullmatch(r"[a-z-]+", name)
