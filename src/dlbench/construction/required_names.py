"""Find the names and messages that hidden tests use and that nothing visible mentions.

Nobody can guess the name of an attribute that only a hidden test reads. Such a name would decide the score, so that it
is told with the task.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from dlbench.construction.collect import is_test_code
from dlbench.dataset.target import dotted_name, is_prose, walk_code
from dlbench.execution.task_tests import ModuleTests, cut_tests
from dlbench.parsing import parse, unparse

_WORD = re.compile(r"[^\W\d]\w*")
_EXPECTING = frozenset({"raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns"})
_LEAST_PIECE = 12
"""Characters that part of a message has in common with a string of the release."""


def find_required_names(
    tree: Path, skeleton: Mapping[str, str], visible: Collection[str], hidden: Collection[str]
) -> list[str]:
    """What hidden tests mention, what the removed code mentions too, and what is nowhere visible. `skeleton`: the text
    of each reduced module by path."""
    removed = [parse(_read(tree / path)) for path in skeleton]
    names = {name for module in removed for name in _list_defined(module)}
    strings = {text for module in removed for text in _list_strings(module)}
    text = "\n".join(_read_visible(tree, skeleton, visible, hidden))
    words = set(_WORD.findall(text))
    found: set[str] = set()
    for node in _list_hidden_code(tree, visible, hidden):
        found |= {name for name in _list_used(node) if name in names and name not in words}
        messages = set(_list_messages(node))
        found |= {_plain(message) for message in messages if message not in text and _plain(message) not in text}
        for one in set(_list_strings(node)) - messages - set(_list_labels(node)):
            if one.strip() not in text and _is_from(one, strings):
                found.add(one)
    return sorted(found)


def find_expected_errors(tree: Path, visible: Collection[str], hidden: Collection[str]) -> list[str]:
    """The errors and warnings that hidden tests expect, with the message and the call as far as they are written there.
    Which type an error has is often free."""
    found = set()
    for node in _list_hidden_code(tree, visible, hidden):
        for block in (one for one in walk_code(node) if isinstance(one, ast.With)):
            for item in block.items:
                match item.context_expr:
                    case ast.Call(func=ast.Attribute(attr=name), args=args) if name in _EXPECTING:
                        found.add(_describe_error(args, list(_list_messages(item)), block.body))
    return sorted(found - {""})


def _describe_error(arguments: list[ast.expr], messages: list[str], body: list[ast.stmt]) -> str:
    """Empty if the type is a variable, or if there is no more to say."""
    kinds = [unparse(one) for one in arguments[:1]]
    if not kinds or not re.search(r"\b[A-Z]", kinds[0]):
        return ""
    match arguments:
        case [_, ast.Constant(value=str(text)), *_]:
            messages = [text]
    calls = [dotted_name(one.func) for part in body for one in walk_code(part) if isinstance(one, ast.Call)]
    called = [f"{name.rpartition('.')[2]}()" for name in calls[:1] if name]
    if not called and not messages:
        return ""
    return " ".join([": ".join([*kinds, *map(_plain, messages)]), *(f"from {name}" for name in called)])


def find_tests_of(texts: Collection[str], tree: Path, tests: Iterable[str]) -> set[str]:
    """The tests whose own code has one of these texts."""
    found = set()
    for test in tests:
        own = {one for node in _list_hidden_code(tree, [test], [test]) for one in _list_strings(node)}
        own |= {_plain(one) for node in _list_hidden_code(tree, [test], [test]) for one in _list_messages(node)}
        if own & set(texts):
            found.add(test)
    return found


def _is_from(text: str, strings: Collection[str]) -> bool:
    """Whether a string of a test repeats one of the release, or a part of one."""
    if len(text) < 2:
        return False
    if text in strings:
        return True
    return len(text) >= _LEAST_PIECE and any(
        text in one or (len(one.strip()) >= _LEAST_PIECE and one.strip() in text) for one in strings
    )


def _plain(pattern: str) -> str:
    """The text that a simple regular expression matches; any other is returned as it is."""
    text = re.sub(r"\\(\W)", r"\1", pattern).strip("^$")
    with suppress(re.error):  # an argument of that name need not be a pattern
        return text if re.fullmatch(pattern, text) else pattern
    return pattern


def _list_used(node: ast.AST) -> Iterator[str]:
    """Attributes, keywords of calls, and private names."""
    for one in walk_code(node):
        match one:
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.Name(id=name) if name.startswith("_"):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")


def _list_defined(node: ast.AST) -> Iterator[str]:
    """Names that code gives to something of its own. Attributes that it only reads may be those of a library."""
    for one in walk_code(node):
        match one:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Constant(value=str(name)) if name.isidentifier():
                yield name
            case ast.Call(func=ast.Name(id="dict" | "SimpleNamespace"), keywords=keywords):
                yield from (keyword.arg for keyword in keywords if keyword.arg)


def _list_strings(node: ast.AST) -> Iterator[str]:
    """Strings without docstrings, and the parts of formatted ones."""
    prose = {id(one.value) for one in walk_code(node) if is_prose(one)}
    for one in walk_code(node):
        match one:
            case ast.Constant(value=str(text)) if id(one) not in prose and text.strip():
                yield text


def _list_labels(node: ast.AST) -> Iterator[str]:
    """What a test says when it fails, and the names of its parameters; it expects nothing of them."""
    for one in walk_code(node):
        match one:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, *_]):
                yield from _list_strings(names)
            case ast.Assert(msg=ast.expr() as message) | ast.keyword(arg="msg" | "err_msg", value=message):
                yield from _list_strings(message)


def _list_messages(node: ast.AST) -> Iterator[str]:
    """The patterns that messages of errors and warnings must match."""
    for one in walk_code(node):
        match one:
            case ast.keyword(arg="match", value=ast.Constant(value=str(text))) if text.strip():
                yield text


def _list_hidden_code(tree: Path, visible: Collection[str], hidden: Collection[str]) -> Iterator[ast.AST]:
    """The hidden tests; of files without a visible test, everything."""
    shown = {test.partition("::")[0] for test in visible}
    for path, tests in _group(hidden).items():
        source = (tree / path).read_bytes()
        module = ModuleTests(source)
        functions = {module.find(test) for test in tests} - {()}
        yield from map(module.functions.__getitem__, functions) if path in shown else [parse(source)]


def _read_visible(
    tree: Path, skeleton: Mapping[str, str], visible: Collection[str], hidden: Collection[str]
) -> Iterator[str]:
    """The skeleton, other code of the release, helpers of the tests, and test files as the folder has them."""
    yield from skeleton.values()
    shown, judging = _group(visible), _group(hidden)
    for path in sorted(tree.rglob("*.py")):
        file = path.relative_to(tree).as_posix()
        if file in skeleton:
            continue
        text = _read(path)
        if file in shown and file in judging:
            yield cut_tests(path.read_bytes(), shown[file], judging[file]).decode("utf-8", "replace")
        elif file in shown or not is_test_code(file) or (file not in judging and "def test" not in text):
            yield text


def _group(tests: Iterable[str]) -> dict[str, list[str]]:
    """Tests by file."""
    found: dict[str, list[str]] = {}
    for test in tests:
        found.setdefault(test.partition("::")[0], []).append(test)
    return found


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
