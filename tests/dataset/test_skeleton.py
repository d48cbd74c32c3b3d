"""Skeletons: bodies and private helpers go, and everything that shows the interface stays."""

import ast
from pathlib import Path

import pytest

import dlbench
from dlbench.dataset.skeleton import Module, Skeleton, cut_definitions, hash_skeleton, reduce_module, reduce_tree

MODULE = '''\
"""Losses."""
import math
from abc import ABC, abstractmethod
from typing import Protocol, overload

__all__ = ["Loss", "squared"]
SCALE = 2.0  # a constant


class Sized(Protocol):
    def size(self) -> int: ...


class Base(ABC):
    @abstractmethod
    def forward(self, x): ...

    @abstractmethod
    def _hook(self):
        raise NotImplementedError("subclasses do this")


class Loss(Base):
    """A loss."""

    weight: float = 1.0

    def __init__(self, weight=SCALE):  # the header
        # secret: first the weight
        self.weight = weight
        # secret: and then nothing
    # about forward

    @property
    def doubled(self) -> float:
        """Twice the weight."""  # secret
        # secret
        return _double(self.weight)  # secret

    def _private(self):
        return 1

    def _hook(self):
        return 2

    def forward(self, x, é="ü"): return x * self.weight  # secret


# secret: a helper
def _double(value):
    """Double a value."""
    return 2 * value


def _default():
    return 3


def squared(x, start=_default()):
    def inner(y):
        return y * y  # secret

    class Local:
        def method(self):
            return 4

    return inner(x)


@overload
def convert(x: int) -> int: ...
@overload
def convert(x: str) -> str: ...
def convert(x):
    yield x


if SCALE > 1:

    def chosen(values: dict = {1: 2}[1:2] if False else {}) -> "int":
        return 1
else:

    def _chosen():
        return 2
'''


def reduce(source: str = MODULE, kept: tuple[str, ...] = (), used: tuple[str, ...] = ()) -> str:
    text = reduce_module(source, kept, used)
    compile(text, "module.py", "exec")
    return text


def test_a_body_is_replaced_and_its_docstring_stays() -> None:
    expected = '    @property\n    def doubled(self) -> float:\n        """Twice the weight."""\n'
    assert expected + "        raise NotImplementedError\n" in reduce()


def test_no_comment_of_a_removed_body_stays() -> None:
    """A comment in a body describes the answer."""
    assert "secret" not in reduce()
    assert "# about forward" in reduce()
    assert "# a constant" in reduce()


def test_a_body_in_the_line_of_its_signature_is_replaced() -> None:
    assert 'def forward(self, x, é="ü"): raise NotImplementedError\n' in reduce()


def test_unused_private_helpers_are_removed() -> None:
    assert "_double" not in reduce()
    assert "_private" not in reduce()
    assert "else:\n\n    pass" in reduce()


def test_private_helpers_that_remaining_code_uses_stay_as_signatures() -> None:
    assert "def _default():\n    raise NotImplementedError\n" in reduce()
    assert "def _hook(self):\n        raise NotImplementedError\n" in reduce()
    assert "def _private(self):\n        raise NotImplementedError\n" in reduce(used=("_private",))


def test_a_kept_definition_keeps_its_body_and_the_helpers_that_it_names() -> None:
    text = reduce(kept=("Loss.doubled",))
    assert "return _double(self.weight)" in text
    assert 'def _double(value):\n    """Double a value."""\n    raise NotImplementedError\n' in text


def test_stubs_and_abstract_methods_are_unchanged() -> None:
    text = reduce()
    assert "def size(self) -> int: ..." in text
    assert 'raise NotImplementedError("subclasses do this")' in text
    assert text.count("@overload") == 2


def test_functions_inside_functions_are_removed_with_them() -> None:
    assert "inner" not in reduce()
    assert "Local" not in reduce()


def test_everything_outside_the_bodies_is_unchanged() -> None:
    names = {node.name for node in ast.walk(ast.parse(MODULE)) if isinstance(node, ast.FunctionDef)}
    before, after = (ast.parse(text) for text in (MODULE, reduce(used=tuple(names))))
    for tree in (before, after):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                node.body = [ast.Pass()]
    assert ast.dump(before) == ast.dump(after)


def strip(tree: ast.AST) -> str:
    """The code without what reduction may change."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body[:1] if ast.get_docstring(node, clean=False)] or [ast.Pass()]
    return ast.dump(tree)


def test_our_own_modules_compile_and_keep_all_that_is_outside_the_bodies() -> None:
    """Real code has more forms than any example."""
    for path in (Path(dlbench.__file__).parent / "execution").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        module = Module(source)
        text = module.reduce((), {one.node.name for one in module.definitions}).text
        compile(text, path.name, "exec", dont_inherit=True)
        assert strip(ast.parse(text)) == strip(ast.parse(source)), path
        count = sum(not one.is_empty for one in module.definitions)
        assert text.count("raise NotImplementedError") >= count, path


def test_a_skeleton_is_its_own_skeleton() -> None:
    assert reduce(reduce()) == reduce()


def test_line_endings_tabs_and_form_feeds_are_read() -> None:
    text = reduce("def f():\r\n\treturn 1\r\n\x0cdef g():\r\n\treturn '''\r\n# x'''\r\n")
    assert text == "def f():\n\traise NotImplementedError\n\x0cdef g():\n\traise NotImplementedError\n"


def test_a_class_whose_methods_all_go_is_not_left_empty() -> None:
    assert reduce("class A:\n    def _a(self):\n        return 1\n    def _b(self):\n        return 2\n") == (
        "class A:\n    pass\n"
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("from .a import run\nfrom .b import _shared\n")
    (tmp_path / "pkg/a.py").write_text("def run():\n    return _own()\ndef _own():\n    return 1\n")
    (tmp_path / "pkg/b.py").write_text("def _shared():\n    return 1\ndef _tested():\n    return _unused()\n")
    with (tmp_path / "pkg/b.py").open("a") as file:
        file.write("def _unused():\n    return 1\n")
    (tmp_path / "test_b.py").write_text("import pkg.b\ndef test(): pkg.b._tested()\n")
    (tmp_path / "broken.py").write_text("print 1\n")
    return tmp_path


def test_helpers_that_other_files_use_stay(tree: Path) -> None:
    """Otherwise importing the package fails, and tests mention names that nobody can know."""
    texts = reduce_tree(tree, ["pkg/__init__.py", "pkg/a.py", "pkg/b.py"], [])
    assert texts["pkg/a.py"] == "def run():\n    raise NotImplementedError\n"
    assert "def _shared" in texts["pkg/b.py"]
    assert "def _tested" in texts["pkg/b.py"]
    assert "_unused" not in texts["pkg/b.py"]


def test_measures_count_code_and_definitions(tree: Path) -> None:
    reduced = Skeleton(tree, ["pkg/a.py"]).reduce(["pkg/a.py::run"])["pkg/a.py"]
    assert (reduced.lines, reduced.definitions) == (1, 1)
    reduced = Skeleton(tree, ["pkg/a.py"]).reduce([])["pkg/a.py"]
    assert (reduced.lines, reduced.definitions) == (3, 2)


def test_the_digest_of_a_skeleton_depends_on_what_is_kept(tree: Path) -> None:
    digests = {hash_skeleton(reduce_tree(tree, ["pkg/a.py"], kept)) for kept in ([], ["pkg/a.py::run"], [])}
    assert len(digests) == 2


def test_asked_definitions_lose_docstrings_too_and_everything_else_stays(tmp_path: Path) -> None:
    (tmp_path / "losses.py").write_text(MODULE)
    (reduced,) = cut_definitions(tmp_path, ["losses.py::Loss", "losses.py::_double"]).values()
    compile(reduced.text, "losses.py", "exec")
    text = reduced.text
    for gone in ("A loss.", "Twice the weight.", "secret: first", "# secret\n        # secret", "_double", "_private"):
        assert gone not in text
    assert "class Loss(Base):\n\n    weight: float = 1.0\n" in text
    assert "    @property\n    def doubled(self) -> float:\n        raise NotImplementedError\n" in text
    assert text[text.index("def _default") :] == MODULE[MODULE.index("def _default") :]
    assert text.startswith(MODULE[: MODULE.index('    """A loss."""')])
    assert (reduced.lines, reduced.definitions) == (8, 6)


def test_a_docstring_that_is_all_of_a_body_is_replaced(tmp_path: Path) -> None:
    source = 'class Odd(ValueError):\n    """Odd."""\n\n\nclass Base:\n    def size(self):\n        """A size."""\n'
    (tmp_path / "a.py").write_text(f"{source}\n    def last(self): return 1\n")
    (reduced,) = cut_definitions(tmp_path, ["a.py::Odd", "a.py::Base"]).values()
    compile(reduced.text, "a.py", "exec")
    expected = "class Odd(ValueError):\n    pass\n\n\nclass Base:\n    def size(self):\n        pass\n"
    assert reduced.text == f"{expected}\n    def last(self): raise NotImplementedError\n"
