"""Relevance is the share of distinct words with a keyword, reported apart for prompts and code."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.analysis.corpora import Corpus, Item
from dlbench.analysis.relevance import (
    BINS,
    CATEGORIES,
    _read_lists,
    find_categories,
    measure_relevance,
    split_code,
    split_prompt,
)


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("softmax", {"components"}),
        ("denormalized", {"components"}),
        ("batch_size", {"training"}),
        ("nn", {"components"}),
        ("connection", set()),
        ("Adam", {"optimisers"}),
        ("madam", set()),
        ("RandomCrop2D", {"processing"}),
        ("tf", {"libraries"}),
        ("result", set()),
    ],
)
def test_long_keyword_matches_anywhere_and_short_one_a_whole_part(word, kinds):
    assert find_categories(word) == kinds


def test_words_of_code_are_its_names():
    code = '# a tensor\ndef f(self, x):\n    """A tensor."""\n    return torch.relu(len(x), "tensor")\n'
    assert split_code(code) == ["f", "x", "torch", "relu", "x"]


def test_broken_code_counts_up_to_the_error():
    assert split_code("    loss = model(x)\n  (((")[:3] == ["loss", "model", "x"]


def test_common_english_words_do_not_count():
    assert split_prompt("The loss of a batch is 3.") == ["loss", "batch"]


def test_ratio_matches_one_computed_by_hand():
    corpus = Corpus("made", (Item("0", "loss Loss value", "loss = value", "", {}), Item("1", "value", None, "", {})))
    prompt, code = measure_relevance(corpus)
    assert (prompt.text, prompt.figures.count, code.text, code.figures.count) == ("prompt", 2, "code", 1)
    assert prompt.figures.mean == pytest.approx((1 / 2 + 0) / 2)
    assert prompt.by_occurrence.mean == pytest.approx((2 / 3 + 0) / 2)
    assert prompt.categories["training"] == pytest.approx(1 / 3)
    assert code.figures.mean == pytest.approx(1 / 2)
    assert prompt.frequent == (("loss", 1),)


def test_no_result_for_code_without_references():
    (prompt,) = measure_relevance(Corpus("made", (Item("0", "loss", None, "", {}),)))
    assert prompt.text == "prompt"


def test_keyword_lists_are_valid():
    lists = _read_lists()
    for name in CATEGORIES:
        assert lists[name]
        assert all(re.fullmatch(r"[a-z][a-z0-9_]+", word) for word in lists[name]), name


@given(st.lists(st.text(), max_size=5))
def test_any_text_gives_a_ratio(texts):
    found = measure_relevance(Corpus("made", tuple(Item(str(n), text, text, "", {}) for n, text in enumerate(texts))))
    for one in found:
        assert 0 <= one.figures.low <= one.figures.most <= 1
        assert sum(one.bins) == pytest.approx(1)
        assert len(one.bins) == len(BINS)
