"""Rename module-level names in an answer, everywhere they mean that thing and nowhere else.

libcst's scopes decide: a parameter, a local variable or a keyword argument of the same spelling stays as it is.
"""

import re
from collections.abc import Sequence

import libcst as cst
from libcst.metadata import Access, Assignment, MetadataWrapper, ScopeProvider

from dlbench.execution.names import is_data_subscript


def rename_globals(module: cst.Module, new_names: dict[str, str]) -> cst.Module:
    """The same module with some of its module-level names spelt otherwise; statements keep their places."""
    if not new_names:
        return module
    wrapper = MetadataWrapper(module, unsafe_skip_copy=False)
    scopes = wrapper.resolve(ScopeProvider)
    scope = next(scope for scope in scopes.values() if scope is not None).globals
    nodes: set[int] = set()
    for name in new_names:
        for assignment in scope[name]:
            if isinstance(assignment, Assignment):
                nodes.add(id(assignment.node))
            for access in assignment.references:
                nodes.add(id(leftmost(access)))
    assigned = _ComprehensionTargets(new_names)
    wrapper.module.visit(assigned)
    return wrapper.module.visit(_Renamer(nodes | assigned.found, new_names))


def leftmost(access: Access) -> cst.CSTNode:
    node: cst.CSTNode = access.node
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


class _ComprehensionTargets(cst.CSTVisitor):
    """Targets of `:=` in comprehensions of the module: they bind names of the module, which libcst does not see."""

    def __init__(self, new_names: dict[str, str]) -> None:
        super().__init__()
        self.new_names = new_names
        self.found: set[int] = set()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        if isinstance(node.target, cst.Name) and node.target.value in self.new_names:
            self.found.add(id(node.target))


class _Renamer(cst.CSTTransformer):
    def __init__(self, nodes: set[int], new_names: dict[str, str]) -> None:
        super().__init__()
        self.nodes, self.new_names = nodes, new_names

    def _new(self, name: cst.Name) -> cst.Name:
        return name.with_changes(value=self.new_names.get(name.value, name.value))

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return self._new(updated_node) if id(original_node) in self.nodes else updated_node

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        if id(original_node) not in self.nodes:
            return updated_node
        return updated_node.with_changes(name=self._new(updated_node.name))

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        if id(original_node) not in self.nodes:
            return updated_node
        return updated_node.with_changes(name=self._new(updated_node.name))

    def leave_Global(self, original_node: cst.Global, updated_node: cst.Global) -> cst.Global:
        names = [item.with_changes(name=self._new(item.name)) for item in updated_node.names]
        return updated_node.with_changes(names=names)

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        """Names inside a quoted annotation are not nodes of the tree."""
        return cst.ensure_type(updated_node.visit(_QuotedRenamer(self.new_names)), cst.Annotation)

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:
        if id(original_node) not in self.nodes:
            return updated_node
        return updated_node.with_changes(names=self._renamed(original_node.names))

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        if id(original_node) not in self.nodes or isinstance(original_node.names, cst.ImportStar):
            return updated_node
        return updated_node.with_changes(names=self._renamed(original_node.names))

    def _renamed(self, aliases: Sequence[cst.ImportAlias]) -> list[cst.ImportAlias]:
        renamed: list[cst.ImportAlias] = []
        for alias in aliases:
            bound = bound_name(alias)
            new = self.new_names.get(bound)
            if new is None:
                renamed.append(alias)
            elif alias.asname is not None or "." not in alias.evaluated_name:
                renamed.append(alias.with_changes(asname=cst.AsName(cst.Name(new))))
            else:  # `import a.b` binds `a` and loads `a.b`; renamed it must still do both
                loads = cst.AsName(cst.Name(f"{new}_{alias.evaluated_name.replace('.', '_')}"))
                binds = cst.ImportAlias(name=cst.Name(bound), asname=cst.AsName(cst.Name(new)))
                renamed += [binds, alias.with_changes(asname=loads)]
        return separate(renamed)


class _QuotedRenamer(cst.CSTTransformer):
    def __init__(self, new_names: dict[str, str]) -> None:
        super().__init__()
        self.new_names = new_names

    def visit_Subscript(self, node: cst.Subscript) -> bool:
        return not is_data_subscript(cst.Module([]).code_for_node(node.value))

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        value = updated_node.value
        for old, new in self.new_names.items():
            value = re.sub(rf"\b{re.escape(old)}\b", new, value)
        return updated_node.with_changes(value=value)


def bound_name(alias: cst.ImportAlias) -> str:
    """The name that an imported module or attribute gets."""
    return alias.evaluated_alias or alias.evaluated_name.split(".")[0]


def separate(aliases: list[cst.ImportAlias]) -> list[cst.ImportAlias]:
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    *others, last = aliases
    return [*(alias.with_changes(comma=comma) for alias in others), last.with_changes(comma=cst.MaybeSentinel.DEFAULT)]


class LazyAnnotations(cst.CSTTransformer):
    """Quotes annotations: what `from __future__ import annotations` means, for the answer's code alone."""

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        if isinstance(updated_node.annotation, cst.SimpleString):
            return updated_node
        text = cst.Module([]).code_for_node(updated_node.annotation)
        return updated_node.with_changes(annotation=cst.SimpleString(repr(" ".join(text.split()))))
