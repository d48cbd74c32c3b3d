"""Copies are found whatever their names; the kept copy does not depend on order."""

import itertools
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.construction.screening import find_duplicates, find_near
from dlbench.dataset.similarity import SHINGLE, normal_form

SCALE = '''def scale(values, factor=2):
    """Multiplies."""
    total: int = 0
    for value in values:
        total += value * factor
    return np.sqrt(total)
'''
RENAMED = """@register
def grow(xs: list[int], by: int = 2) -> float:
    s = 0
    for x in xs:
        s += x * by
    return np.sqrt(s)
"""


def test_names_docstring_annotations_and_decorators_do_not_matter():
    assert normal_form(SCALE) == normal_form(RENAMED)
    assert "Multiplies" not in normal_form(SCALE)


@pytest.mark.parametrize(
    ("old", "new"), [("factor=2", "factor=3"), ("np.sqrt", "np.exp"), ("*", "/"), ("np.", "jnp."), ("= 0", "= 1")]
)
def test_constants_operators_and_names_from_outside_matter(old, new):
    assert normal_form(SCALE) != normal_form(SCALE.replace(old, new))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x):\n    return [y for y in x]", "def g(a):\n    return [b for b in a]"),
        ("def f(x):\n    with x as y:\n        pass", "def f(a):\n    with a as b:\n        pass"),
        ("def f(x):\n    try:\n        x()\n    except E as e:\n        raise e", "def f(a):\n    try:\n        a()\n    except E as b:\n        raise b"),
        ("def f(x):\n    match x:\n        case [a, *b]:\n            return b\n        case {'k': 1, **c}:\n            return c", "def f(q):\n    match q:\n        case [r, *s]:\n            return s\n        case {'k': 1, **t}:\n            return t"),
        ("def f(x):\n    def g(y):\n        nonlocal x\n        x = y\n    return g", "def h(a):\n    def i(b):\n        nonlocal a\n        a = b\n    return i"),
        ("def f(x):\n    return f(x - 1)", "def g(y):\n    return g(y - 1)"),
        ("def f(x):\n    y: int\n    return x", "def f(x):\n    pass\n    return x"),
        ("    def f(self, x):\n        return self.a + x", "def f(this, y):\n    return this.a + y"),
        ("async def f(x):\n    return (n := await x)", "async def f(y):\n    return (m := await y)"),
    ],
)  # fmt: skip
def test_every_kind_of_binding_is_renamed(one, other):
    assert normal_form(one) == normal_form(other)


def test_names_from_outside_and_globals_are_not_renamed():
    form = normal_form(
        "def f(x):\n    global STATE\n    STATE = x\n    import numpy as np\n    return np.sum(OTHER, axis=x)"
    )
    assert all(name in form for name in ("STATE", "np.sum", "OTHER", "axis="))


def test_copies_are_dropped_and_the_shortest_id_kept():
    near = "".join(f"    y{number} = f{number}(x, {number})\n" for number in range(40))
    segments = {
        "a/long.name": SCALE,
        "a/b.grow": RENAMED,
        "a/c.grow": RENAMED,
        "n/first": f"def f(x):\n{near}    return y1\n",
        "n/other": f"def f(x):\n{near}    return y2\n",
        "z/alone": "def f(x):\n    return x",
    }
    assert find_duplicates(segments) == {"a/long.name": "a/b.grow", "a/c.grow": "a/b.grow", "n/other": "n/first"}


def test_chain_of_near_copies_is_one_group():
    lines = [f"    y = g{number}(x, {number})\n" for number in range(60)]
    segments = {f"f{step}": "def f(x):\n" + "".join(lines[step * 2 : step * 2 + 40]) for step in range(8)}
    assert find_duplicates(segments) == {f"f{step}": "f0" for step in range(1, 8)}


def test_threshold_is_exact():
    one = set(range(100))
    texts = {"one": " ".join(map(str, one)), "other": " ".join(map(str, [*range(90), *range(200, 210)]))}
    tokens = [set(zip(*[text.split()[start:] for start in range(SHINGLE)], strict=False)) for text in texts.values()]
    share = len(tokens[0] & tokens[1]) / len(tokens[0] | tokens[1])
    assert list(find_near(texts, share)) == [("one", "other")]
    assert list(find_near(texts, share + 0.001)) == []


def test_nothing_and_one_have_no_duplicates():
    assert find_duplicates({}) == {}
    assert find_duplicates({"f": SCALE}) == {}


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=14), min_size=1, max_size=9), st.floats(0.2, 1)
)
def test_index_finds_the_same_pairs_as_brute_force(token_lists, threshold):
    texts = {f"t{number}": " ".join(tokens) for number, tokens in enumerate(token_lists)}
    sets = {
        name: {tuple(tokens[start : start + SHINGLE]) for start in range(max(1, len(tokens) - SHINGLE + 1))}
        for name, tokens in zip(texts, token_lists, strict=True)
    }
    expected = {
        frozenset(pair)
        for pair in itertools.combinations(texts, 2)
        if len(sets[pair[0]] & sets[pair[1]]) / len(sets[pair[0]] | sets[pair[1]]) >= threshold
    }
    found = [frozenset(pair) for pair in find_near(texts, threshold)]
    assert len(found) == len(set(found))
    assert set(found) == expected


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.integers(0, 5))
def test_result_is_independent_of_order_and_keeps_one_of_each_group(shuffler: random.Random, seed: int):
    chance = random.Random(seed)
    statements = [f"    x = g{number}(x, {number})\n" for number in range(12)]
    segments = {
        f"p/{'m' * chance.randint(1, 4)}.f{number}": "def f(x):\n" + "".join(chance.sample(statements, 8))
        for number in range(6)
    }
    segments |= {f"copy/{name}": re.sub(r"\bx\b", "renamed", text) for name, text in segments.items()}
    found = find_duplicates(segments, 0.5)
    items = list(segments.items())
    shuffler.shuffle(items)
    assert find_duplicates(dict(items), 0.5) == found
    assert all(kept not in found for kept in found.values())
    assert all((len(kept), kept) < (len(name), name) for name, kept in found.items())
    assert {f"copy/{name}" for name in segments if not name.startswith("copy/")} <= set(found)
