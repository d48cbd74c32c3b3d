"""Every operator makes the change it documents, and keeps what carries the meaning."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.agreement.mutation.base import (
    OPERATORS,
    Family,
    NotApplicable,
    Original,
    Paraphrase,
    operator,
    render_operators,
)
from dlbench.agreement.mutation.meaning_guard import CHARACTERS, find_violation
from dlbench.agreement.mutation.text import parse_prompt, replace_pieces
from dlbench.dataset import load
from tests.agreement.instances import SOURCE, TASK, make_instance

RULES = [name for name, operator in OPERATORS.items() if operator.rule is not None]


def apply(name: str, task: str = TASK, seed: int = 0, source: str = SOURCE, qualname: str = "scale") -> Paraphrase:
    rule = OPERATORS[name].rule
    assert rule is not None
    return rule(Original(make_instance(task, qualname), source), Random(seed))


def apply_all(name: str, task: str) -> set[str]:
    return {apply(name, task, seed).task for seed in range(12)}


@pytest.mark.parametrize("name", RULES)
def test_every_rule_keeps_protected_pieces(name):
    paraphrase = apply(name)
    assert paraphrase != Paraphrase(TASK, "scale")
    assert find_violation(Original(make_instance(), SOURCE), paraphrase, CHARACTERS) == ""
    for kept in ("(H, W, C)", "0..255", "2.5", "ValueError", '"scale needs non-negative values"', "axis 1", "Gaussian"):
        assert kept.lower() in paraphrase.task.lower()
        assert kept in paraphrase.task or name == "upper-case"


@pytest.mark.parametrize("name", RULES)
def test_seed_is_reproducible(name):
    assert apply(name, seed=3) == apply(name, seed=3)


def test_verbs_keep_their_form_and_nouns_stay():
    assert apply_all("verbs", "It computes the sum.") == {"It calculates the sum.", "It determines the sum."}
    assert apply_all("verbs", "Raise ValueError if `x` is empty.") == {"Throw ValueError if `x` is empty."}
    for kept in ("Raise `x` to the power 2.", "The return of `x` is an int.", "`x` need not be sorted."):
        with pytest.raises(NotApplicable):
            apply("verbs", kept)


def test_synonyms_keep_capitals_and_articles_and_skip_fixed_phrases():
    assert apply_all("synonyms", "Give an image.") == {"Give a picture."}
    assert apply_all("synonyms", "Images are kept.") == {"Pictures are kept."}
    with pytest.raises(NotApplicable):
        apply("synonyms", "Round to a whole number, element by element, and keep `image` and image_size.")


def test_upper_case_skips_code_names_strings_and_shapes():
    task = 'Give `x` of shape (n, k) back as NumPy array, or raise ValueError "not good" for None.'
    assert (
        apply("upper-case", task).task
        == 'GIVE `x` OF SHAPE (n, k) BACK AS NumPy ARRAY, OR RAISE ValueError "not good" FOR None.'
    )


def test_word_of_equal_letters_gets_no_typo():
    with pytest.raises(NotApplicable, match="no word is long enough"):
        apply("typos", "Do it with `x` as xxxxxxx.")
    assert apply("typos", "Do it with `x` as xxxxxxx counted.").task.startswith("Do it with `x` as xxxxxxx ")


def test_typos_are_few_and_skip_protected_words():
    for seed in range(20):
        before, after = TASK.split(), apply("typos", seed=seed).task.split()
        slips = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
        assert 1 <= len(slips) <= 3
        for old, new in slips:
            assert sorted(old) == sorted(new)
            assert old.strip(".,;") not in {"negative", "columns", "Without", "nothing", "values"}


def test_imperatives_become_statements():
    assert (
        apply("declarative", "Compute the mean and return it.").task
        == "The function must compute the mean and return it."
    )
    assert apply("declarative", "Do not use `x`.").task == "The function must not use `x`."
    assert apply("declarative", "Never return the input.").task == "The function must never return the input."
    method = apply("declarative", "Return the mean.", qualname="Net.step")
    assert method.task == "The method must return the mean."


def test_imperatives_become_questions():
    assert apply_all("questions", "Return the mean. `x` is an int.") == {
        f"{opening} return the mean? `x` is an int." for opening in ("Could you", "Can you", "Would you")
    }


def test_other_sentences_are_not_imperatives():
    for task in (
        "Mean of the rows.",
        "Sum of `x` over axis 1.",
        "Set of all labels.",
        "`x` is an int.",
        "Score per class.",
    ):
        for name in ("declarative", "questions", "passive"):
            with pytest.raises(NotApplicable):
                apply(name, task)


def test_imperatives_become_passive_if_the_object_is_certain():
    assert apply("passive", "Return the mean if `x` is set.").task == "The mean must be returned if `x` is set."
    assert apply("passive", "Set `x` to 3.").task == "`x` must be set to 3."
    for unclear in (
        "Compute the mean and return it.",
        "Return a list that holds `x`.",
        "Rescale an image with care, and return a new array.",
        "Return a frame of the same kind as `x`.",
    ):
        with pytest.raises(NotApplicable):
            apply("passive", unclear)


def test_only_independent_sentences_are_reordered():
    assert apply_all("reorder", "Sum up. `a` is 1. `b` is 2.") == {"Sum up. `b` is 2. `a` is 1."}
    assert apply_all("reorder", "`a` is 1. It is kept. `b` is 2.") == {"`b` is 2. `a` is 1. It is kept."}
    for dependent in ("`a` is 1. `b` is the same.", "`a` is 1. `b` is 2. Both are kept.", "Sum up. Then stop."):
        with pytest.raises(NotApplicable):
            apply("reorder", dependent)


def test_whole_paragraphs_are_reordered():
    task = "Sum up.\n\n`a` may be:\n- 1: no;\n- 2: yes.\n\n`b` is 2."
    assert apply_all("reorder", task) == {"Sum up.\n\n`b` is 2.\n\n`a` may be:\n- 1: no;\n- 2: yes."}


def test_function_is_renamed_in_code_but_not_in_strings():
    task = 'Scale it as `scale` does; `scale(x)` and `other.scale` and "scale is bad" and to scale.'
    paraphrase = apply("name-neutral", task)
    assert paraphrase.function == "f1"
    assert paraphrase.task == 'Scale it as `f1` does; `f1(x)` and `other.scale` and "scale is bad" and to scale.'


def test_neutral_name_is_not_taken():
    assert apply("name-neutral", source=SOURCE + "\n\ndef f1():\n    pass\n").function == "f2"


def test_method_of_the_base_class_keeps_its_name():
    paraphrase = apply("name-neutral", "Call `step` of the base class. Then `self.step(1)`.", qualname="Net.step")
    assert paraphrase.task == "Call `step` of the base class. Then `self.f1(1)`."


def test_special_method_is_not_renamed():
    for name in ("name-neutral", "name-descriptive", "name-misleading"):
        with pytest.raises(NotApplicable, match="__init__"):
            apply(name, qualname="Net.__init__")


def test_descriptive_name_consists_of_the_first_words():
    names = {apply("name-descriptive", seed=seed).function for seed in range(12)}
    assert names == {"compute_weighted_mean", "compute_weighted_mean_each", "compute_weighted_mean_each_image"}


def test_misleading_name_shares_no_word_with_the_prompt():
    for seed in range(20):
        words = apply("name-misleading", "Sort the rows of a table by random seed.", seed).function.split("_")
        assert not {"sort", "rows", "table", "random", "seed"} & set(words)


def test_parameters_are_renamed_only_if_unambiguous():
    paraphrase = apply("parameter-names")
    assert paraphrase.parameters == {"factor": "multiplier"}  # `img` occurs in a call, `strict` beside a message
    assert "`multiplier` (default 2.5)" in paraphrase.task
    assert "`smooth(img, sigma=1)`" in paraphrase.task
    with pytest.raises(NotApplicable):
        apply("parameter-names", "ValueError names the argument: `factor`, `img` or `strict`.")
    with pytest.raises(NotApplicable):
        apply("parameter-names", source="")


@settings(max_examples=60)
@given(st.text(st.sampled_from(list("ab XY.`\"'()[],0-1_\n:é\0")), max_size=60))
def test_any_text_is_parsed_without_loss(text):
    prompt = parse_prompt(text)
    assert len(prompt.hidden) == len(text)
    for piece in (*prompt.fixed, *prompt.words, *prompt.sentences):
        assert text[piece.start : piece.end] == piece.text
    assert replace_pieces(text, [(piece, piece.text) for piece in prompt.words]) == text


@settings(max_examples=40)
@given(st.sampled_from(RULES), st.text(max_size=80), st.integers(0, 9))
def test_no_text_crashes_a_rule(name, text, seed):
    try:
        paraphrase = apply(name, f"Return `x`. {text}", seed)
    except NotApplicable:
        return
    assert paraphrase.task
    assert paraphrase.task.count("`") == f"Return `x`. {text}".strip().count("`")


@pytest.mark.slow
@pytest.mark.parametrize("name", [rule for rule in RULES if rule != "parameter-names"])
def test_paraphrases_of_real_prompts_pass_the_guard(name):
    """A third of the benchmark; all of it in `test_real_prompts.py`."""
    tried, rejected = 0, []
    for instance in list(load().instances.values())[::3]:
        original = Original(instance)
        rule = OPERATORS[name].rule
        assert rule is not None
        try:
            paraphrase = rule(original, Random(0))
        except NotApplicable:
            continue
        tried += 1
        if violation := find_violation(original, paraphrase, CHARACTERS):
            rejected.append((instance.id, violation))
    assert tried >= 3
    assert len(rejected) <= tried / 10, rejected


ORDER = [
    *("verbs", "synonyms", "upper-case", "typos", "passive", "questions", "declarative", "reorder", "rephrase"),
    *("name-descriptive", "name-neutral", "name-misleading", "parameter-names"),
]


def test_registry_holds_every_operator_in_documented_order():
    """The order is part of the seed's meaning: the operators are shuffled from it."""
    assert list(OPERATORS) == ORDER
    for name, one in OPERATORS.items():
        assert name == one.name
        assert one.summary
        assert one.rule is not None or one.instruction


def test_operator_registers_itself(monkeypatch):
    monkeypatch.setattr(OPERATORS, "_members", dict(OPERATORS._members))

    @operator("shout", Family.LEXICAL, "an exclamation mark at the end")
    def shout(original, rng):
        return Paraphrase(original.task + "!", original.function)

    assert list(OPERATORS) == [*ORDER, "shout"]
    assert OPERATORS.find("shout").rule is shout
    assert "| `shout` | lexical | an exclamation mark at the end | rule |" in render_operators()


def test_table_of_operators_names_who_makes_them():
    lines = render_operators().splitlines()
    assert len(lines) == 2 + len(ORDER)
    assert lines[2].startswith("| `verbs` | lexical |")
    assert lines[6].endswith("| rule or model |")
    assert lines[10].endswith("| model |")
