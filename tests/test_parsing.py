"""Is good code a tree, whatever other threads parse meanwhile?"""

import ast
import gc
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dlbench.parsing import parse

SOURCE = "\n".join(f"def f{n}(a, b):\n    return [x + a * (b - x / 2) for x in range(a) if x > b]" for n in range(40))


@pytest.fixture
def many_switches() -> Iterator[None]:
    """The interpreter goes to another thread again and again in the midst of building a tree: what a collection of
    garbage with a callback (hypothesis sets one) does now and then."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()

    def leave(phase: str, details: dict[str, int]) -> None:
        time.sleep(0)

    sys.setswitchinterval(1e-6)
    gc.set_threshold(10)
    gc.callbacks.append(leave)
    yield
    gc.callbacks.remove(leave)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("many_switches")
def test_threads_that_parse_at_once_all_get_their_trees() -> None:
    with ThreadPoolExecutor(4) as threads:
        trees = list(threads.map(lambda _: parse(SOURCE), range(40)))
    assert {len(tree.body) for tree in trees} == {40}


def test_the_tree_is_that_of_ast() -> None:
    assert ast.dump(parse("x = 1")) == ast.dump(ast.parse("x = 1"))
    assert ast.dump(parse("x + 1", mode="eval")) == ast.dump(ast.parse("x + 1", mode="eval"))


def test_what_is_no_python_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        parse("def f(:")
