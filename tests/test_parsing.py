"""Good code parses while other threads parse, and long integers can be written."""

import ast
import gc
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dlbench.parsing import dump, parse, unparse

SOURCE = "\n".join(f"def f{n}(a, b):\n    return [x + a * (b - x / 2) for x in range(a) if x > b]" for n in range(40))


@pytest.fixture
def many_switches() -> Iterator[None]:
    """Switch threads often while a tree is built, as a garbage collection with a callback (hypothesis sets one) does."""
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
def test_concurrent_threads_all_get_their_trees() -> None:
    with ThreadPoolExecutor(4) as threads:
        trees = list(threads.map(lambda _: parse(SOURCE), range(40)))
    assert {len(tree.body) for tree in trees} == {40}


def test_tree_equals_that_of_ast() -> None:
    assert ast.dump(parse("x = 1")) == ast.dump(ast.parse("x = 1"))
    assert ast.dump(parse("x + 1", mode="eval")) == ast.dump(ast.parse("x + 1", mode="eval"))


def test_invalid_code_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        parse("def f(:")


def test_integer_too_long_for_decimal_digits_is_written_in_hexadecimal() -> None:
    source = f"x = 0x{'f' * 6000}"
    assert unparse(parse(source)) == source
    assert "0xfff" in dump(parse(source))
    assert unparse(parse("x = 0x10")) == ast.unparse(ast.parse("x = 0x10"))
