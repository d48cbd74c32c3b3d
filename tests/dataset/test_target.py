"""The target is found by its exact qualified name, or not at all."""

import ast

import pytest

from dlbench.dataset.target import (
    TargetError,
    find_target,
    join_context,
    render_imports,
    render_neighbours,
    render_signature,
    render_skeleton,
)
from dlbench.parsing import parse

SOURCE = '''import math
from typing import overload

if math:
    def guarded():
        return 1

try:
    import fast
    def twice(): return 1
except ImportError:
    def twice(): return 2

@overload
def pick(x: int) -> int: ...
@overload
def pick(x: str) -> str: ...
def pick(x):
    """Doc."""
    return x

def again(): return 1
def again(): return 2

class Outer:
    limit: int = 3

    def __init__(self, size):
        """A docstring."""
        self.size = secret(size)

    @property
    def width(self):
        return 1

    @width.setter
    def width(self, value):
        pass

    class Inner:
        @staticmethod
        def deep(
            a, b=(1,
                  2),
        ):
            """One
line at the margin."""
            return a
'''


@pytest.mark.parametrize(
    ("qualname", "text"),
    [
        ("guarded", "    def guarded():\n        return 1"),
        ("pick", 'def pick(x):\n    """Doc."""\n    return x'),
        ("again", "def again(): return 2"),
        ("Outer.width", "    @property\n    def width(self):\n        return 1"),
        ("Outer.Inner.deep", SOURCE[SOURCE.index("        @staticmethod") :].rstrip("\n")),
    ],
)
def test_target_is_found_with_its_decorators_and_without_its_namesakes(qualname, text):
    target = find_target(SOURCE, qualname)
    assert target.text == text
    assert "\n".join(SOURCE.split("\n")[target.first - 1 : target.last]) == text


@pytest.mark.parametrize("qualname", ["absent", "Outer.absent", "Absent.width", "width", "Inner.deep", "fast"])
def test_missing_name_is_an_error(qualname):
    with pytest.raises(TargetError):
        find_target(SOURCE, qualname)


def test_name_defined_in_two_branches_is_an_error():
    with pytest.raises(TargetError, match="more than one branch"):
        find_target(SOURCE, "twice")


def test_hash_depends_on_the_target_only():
    before = find_target(SOURCE, "pick").sha256
    assert find_target(SOURCE.replace("limit: int = 3", "limit: int = 4"), "pick").sha256 == before
    assert find_target(SOURCE.replace("return x", "return  x"), "pick").sha256 != before


def test_windows_line_ends_do_not_change_the_hash():
    assert find_target(SOURCE.replace("\n", "\r\n"), "pick").sha256 == find_target(SOURCE, "pick").sha256


def test_signature_is_the_header_only():
    target = find_target(SOURCE, "Outer.Inner.deep")
    assert render_signature(target.node) == "@staticmethod\ndef deep(a, b=(1, 2)):"
    assert render_signature(target.node, decorators=False) == "def deep(a, b=(1, 2)):"


def test_context_has_headers_and_no_body():
    context = join_context(render_imports(parse(SOURCE)), render_skeleton(find_target(SOURCE, "Outer.width")))
    assert "import math" in context
    assert "def __init__(self, size): ..." in context
    assert "# sets self.size" in context
    assert "the one to write" in context
    assert "secret" not in context
    assert "docstring" not in context


def test_neighbours_are_headers_in_module_order():
    source = "\n".join([
        "X = secret()",
        "@overload",
        "def f(x: int): ...",
        "def f(x):",
        "    return secret(x)",
        "class Empty(Base, metaclass=M):",
        "    limit = secret()",
        "class Full:",
        "    @property",
        "    def size(self) -> int:",
        "        return secret()",
        "async def g(*, y=1):",
        "    def inner(): secret()",
    ])  # fmt: skip
    full = "class Full:\n    @property\n    def size(self) -> int: ..."
    assert render_neighbours(ast.parse(source), "f") == (
        "class Empty(Base, metaclass=M): ...",
        full,
        "async def g(*, y=1): ...",
    )
    assert [text.split("(")[0] for text in render_neighbours(ast.parse(source), "Full.size")] == [
        "@overload\ndef f",
        "def f",
        "class Empty",
        "async def g",
    ]
    assert "secret" not in "".join(render_neighbours(ast.parse(source), "g"))
