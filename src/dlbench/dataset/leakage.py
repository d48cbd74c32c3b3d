"""Find what a prompt gives away of the code and text it was written from (`docs/prompt-writing.md` states the rules).

A prompt that quotes the reference tests memory, not skill, and one that quotes a docstring is a text that models have
seen. A message that a test matches may be quoted, since a solution must contain it. A call of a helper with plain
arguments is no leak: a solver has to know how a helper is called.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from io import StringIO
from pathlib import Path
from tokenize import NAME, NUMBER, OP, generate_tokens

from dlbench.dataset.loading import Kind
from dlbench.dataset.target import Function, Target, find_body
from dlbench.parsing import parse

QUOTED_WORDS = 12


def find_text_runs(prompt: str, module: ast.Module, target: Target) -> list[tuple[str, str]]:
    """The name of each quoted text and the quoted words; each run once, since docstrings repeat each other."""
    texts = [("its docstring", target.docstring or ""), ("its comments", " ".join(re.findall(r"#(.*)", target.text)))]
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            texts.append((f"the docstring of {getattr(node, 'name', 'the module')}", ast.get_docstring(node) or ""))
    found: dict[str, str] = {}
    for name, text in texts:
        if run := find_run(prompt, text):
            found.setdefault(run, name)
    return [(name, run) for run, name in found.items()]


def find_message_runs(prompt: str, body: Iterable[ast.stmt], test_files: Iterable[Path]) -> list[str]:
    """What the prompt quotes from strings of the reference and no test contains."""
    runs = dict.fromkeys(find_run(prompt, piece) for statement in body for piece in _strings(statement))
    runs.pop("", None)
    if not runs:
        return []
    tested = [
        f" {' '.join(_words(piece))} "
        for path in test_files
        if path.is_file()
        for piece in _strings(parse(path.read_text(encoding="utf-8")))
    ]
    return [run for run in runs if not any(f" {run} " in words for words in tested)]


def _strings(tree: ast.AST) -> list[str]:
    """The constant parts of strings, also of f-strings and format strings."""
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [piece for value in constants if isinstance(value, str) for piece in re.split(r"\{[^{}]*\}", value)]


def find_run(prompt: str, text: str) -> str:
    """The longest run of words that prompt and text share, when it is long enough to be a quotation."""
    prompt_words, words = _words(prompt), _words(text)
    if not _runs(prompt_words) & _runs(words):
        return ""
    match = SequenceMatcher(None, prompt_words, words, autojunk=False).find_longest_match()
    return " ".join(words[match.b : match.b + match.size])


def _runs(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + QUOTED_WORDS]) for start in range(len(words) - QUOTED_WORDS + 1)}


def _words(text: str) -> list[str]:
    """Words in lower case, without outer underscores: `{name}_` leaves one over."""
    return [word for word in (found.strip("_") for found in re.findall(r"\w+", text.lower())) if word]


EXPRESSION_TOKENS = 9
UNREVIEWED = "DRAFT, not reviewed: "
"""Prefix of a prompt drafted by a model, until a person replaces it."""
_DOES_WORK = re.compile(r"[=(\[+*/<>@%]")


@dataclass(frozen=True)
class Leak:
    kind: Kind
    what: str
    fix: str


def is_draft(prompt: str) -> bool:
    return prompt.lstrip().startswith(UNREVIEWED.strip())


def find_leaks(prompt: str, module: ast.Module, target: Target, test_files: Iterable[Path] | None = None) -> list[Leak]:
    """Everything that the prompt takes from its target and the module; messages only where the tests are known."""
    lines = find_leaked_lines(prompt, target)
    expressions = [text for text in find_leaked_expressions(prompt, target) if not any(text in line for line in lines)]
    code = [f"a line of the reference: {line}" for line in lines]
    code += [f"an expression of the reference: {text}" for text in expressions]
    messages = [] if test_files is None else find_message_runs(prompt, find_body(target.node), test_files)
    leaks = [(Kind.PROMPT_LEAKS_CODE, what, "describe it in words") for what in code]
    for name, run in find_text_runs(prompt, module, target):
        leaks.append((Kind.PROMPT_LEAKS_DOCSTRING, _words_of(name, run), "use your own words"))
    for run in messages:
        what = _words_of("a message that no test has", run)
        leaks.append((Kind.PROMPT_LEAKS_MESSAGE, what, "quote what a test matches"))
    return [Leak(kind, f"the prompt holds {what}", fix) for kind, what, fix in leaks]


def _words_of(name: str, run: str) -> str:
    return f"{len(run.split())} words in a row of {name}: {run}"


def find_leaked_lines(prompt: str, target: Target) -> list[str]:
    """Lines of the reference's body that the prompt contains."""
    tokens = _tokens(prompt)
    return [line for line in _specific_lines(target) if _tokens(line) in tokens]


def _specific_lines(target: Target) -> list[str]:
    """The body's code lines, without docstring, comments, imports and lines too short to be specific."""
    body = find_body(target.node)
    if not body:
        return []
    lines = "\n".join(ast.unparse(statement) for statement in body).splitlines()
    source = target.text.split("\n")[body[0].lineno - target.first :]
    kept = dict.fromkeys(line.strip() for line in [*lines, *(text.split("  #")[0] for text in source)])
    return [
        line
        for line in kept
        if len(re.findall(r"\w+", line)) >= 3
        and _DOES_WORK.search(line)
        and not line.startswith(("#", "import ", "from ", "@", "def ", '"""'))
    ]


def find_leaked_expressions(prompt: str, target: Target) -> list[str]:
    """Expressions of the reference's body that the prompt contains; of nested ones the outermost."""
    tokens = _tokens("\n".join([prompt, *_code_spans(prompt)]))
    words = frozenset(re.findall(r"\w+", prompt))
    own = _local_names(target.node)
    found: dict[str, None] = {}
    pending: list[ast.AST] = [*find_body(target.node)]
    while pending:
        node = pending.pop(0)
        text = ast.unparse(node) if isinstance(node, ast.expr) and _may_occur(words, node) else ""
        if text and _tokens(text) in tokens and _is_specific(text) and not _is_plain_call(node, own):
            found[text] = None
        else:
            pending += ast.iter_child_nodes(node)
    return list(found)


def _code_spans(prompt: str) -> Iterator[str]:
    """Inline code that is Python, normalised: without redundant brackets."""
    for span in re.findall(r"`([^`]+)`", prompt):
        try:
            yield ast.unparse(parse(span.strip()))
        except (SyntaxError, ValueError):
            continue


def _may_occur(words: frozenset[str], expression: ast.expr) -> bool:
    """A cheap filter before unparsing: most expressions have a name that the prompt lacks."""
    return all(node.id in words for node in ast.walk(expression) if isinstance(node, ast.Name))


def _is_specific(expression: str) -> bool:
    """Long enough to identify the reference; strings are no code, and brackets alone mean little."""
    kinds = [token.type for token in generate_tokens(StringIO(f"({expression})").readline)]
    return sum(kind in (NAME, NUMBER, OP) for kind in kinds) - 2 >= EXPRESSION_TOKENS and kinds.count(NAME) >= 3


def _is_plain_call(node: ast.AST, own: frozenset[str]) -> bool:
    """A call that any user of the helper could write: it computes nothing and names no local of the reference."""
    if not isinstance(node, ast.Call):
        return False
    parts = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
    return all(_is_plain(part, own) for part in parts)


def _is_plain(node: ast.expr, own: frozenset[str]) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name not in own
        case ast.Attribute(value=value) | ast.Starred(value=value):
            return _is_plain(value, own)
    return False


def _local_names(function: Function) -> frozenset[str]:
    """Names that the body binds and the header does not."""
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return frozenset(stored) - {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def _tokens(text: str) -> str:
    """Tokens between spaces: spacing and kind of quotes do not hide a line, and part of a word is no match."""
    return " ".join(["", *re.findall(r"\w+|[^\w\s]", text.replace('"', "'")), ""])
