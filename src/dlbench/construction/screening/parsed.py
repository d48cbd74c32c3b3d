"""What stands where in a source file?

Parsed once for all its functions: a project's largest module holds hundreds of them.
"""

import ast
import re
from dataclasses import dataclass
from functools import cached_property

from dlbench.construction.screening.imports import Binding, find_imports
from dlbench.construction.screening.places import name_package
from dlbench.construction.screening.subject import Subject, find_subject
from dlbench.dataset.target import Function, walk_code
from dlbench.parsing import parse

_GENERATED = re.compile(r"@generated|\b(auto-?)?generated (by|from|file|code)\b|\bdo not edit\b", re.IGNORECASE)


@dataclass(frozen=True)
class Module:
    path: str
    source: str
    tree: ast.Module
    imports: list[Binding]

    @cached_property
    def lines(self) -> list[str]:
        # as the parser counts them: str.splitlines also breaks at form feeds and the like
        return self.source.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    @cached_property
    def functions(self) -> dict[int, Function]:
        """By their first line, that of the first decorator where there is one."""
        return {
            min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]): node
            for node in walk_code(self.tree)
            if isinstance(node, Function)
        }

    @cached_property
    def subject(self) -> Subject:
        return find_subject(self.path, self.tree, self.imports)

    @cached_property
    def is_generated(self) -> bool:
        """Does a comment at its top say that a program wrote it?"""
        comments = [line for line in self.lines[:20] if line.startswith("#")]
        return any(_GENERATED.search(line) for line in comments)

    def text(self, first: int, last: int) -> str:
        return "\n".join(self.lines[first - 1 : last])


def parse_module(path: str, source: str) -> Module:
    """Raises SyntaxError, ValueError or RecursionError, as the parser does."""
    tree = parse(source)
    return Module(path, source, tree, find_imports(tree, name_package(path)))
