"""How is a name of the answer changed everywhere it means that thing, and nowhere else?

With libcst's scopes: a parameter, a local variable or a keyword argument of the same spelling stays as it is.
"""

import re

import libcst as cst
from libcst.metadata import Access, Assignment, MetadataWrapper, ScopeProvider


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
    return wrapper.module.visit(_Renamer(nodes, new_names))


def leftmost(access: Access) -> cst.CSTNode:
    node: cst.CSTNode = access.node
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


class _Renamer(cst.CSTTransformer):
    def __init__(self, nodes: set[int], new_names: dict[str, str]) -> None:
        super().__init__()
        self.nodes = nodes
        self.new_names = new_names

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
        return updated_node.with_changes(
            names=[item.with_changes(name=self._new(item.name)) for item in updated_node.names]
        )

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        """Names inside an annotation in quotes are no tree's nodes."""
        text = updated_node.annotation
        if not isinstance(text, cst.SimpleString):
            return updated_node
        value = text.value
        for old, new in self.new_names.items():
            value = re.sub(rf"\b{re.escape(old)}\b", new, value)
        return updated_node.with_changes(annotation=text.with_changes(value=value))

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:
        if id(original_node) not in self.nodes:
            return updated_node
        aliases: list[cst.ImportAlias] = []
        for alias in original_node.names:
            aliases += self._renamed(alias)
        return updated_node.with_changes(names=separate(aliases))

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        if id(original_node) not in self.nodes or isinstance(original_node.names, cst.ImportStar):
            return updated_node
        aliases: list[cst.ImportAlias] = []
        for alias in original_node.names:
            aliases += self._renamed(alias)
        return updated_node.with_changes(names=separate(aliases))

    def _renamed(self, alias: cst.ImportAlias) -> list[cst.ImportAlias]:
        bound = alias.evaluated_alias or alias.evaluated_name.split(".")[0]
        if bound not in self.new_names:
            return [alias]
        new = cst.AsName(cst.Name(self.new_names[bound]))
        if alias.asname is not None or "." not in alias.evaluated_name:
            return [alias.with_changes(asname=new)]
        # `import a.b` binds `a` and loads `a.b`; renamed it must still do both
        loads = cst.AsName(cst.Name(f"{self.new_names[bound]}_{alias.evaluated_name.replace('.', '_')}"))
        return [cst.ImportAlias(name=cst.Name(bound), asname=new), alias.with_changes(asname=loads)]


def separate(aliases: list[cst.ImportAlias]) -> list[cst.ImportAlias]:
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    *others, last = aliases
    return [*(alias.with_changes(comma=comma) for alias in others), last.with_changes(comma=cst.MaybeSentinel.DEFAULT)]


class LazyAnnotations(cst.CSTTransformer):
    """Puts annotations in quotes: what `from __future__ import annotations` means, for the answer's code alone."""

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        if isinstance(updated_node.annotation, cst.SimpleString):
            return updated_node
        text = cst.Module([]).code_for_node(updated_node.annotation)
        return updated_node.with_changes(annotation=cst.SimpleString(repr(" ".join(text.split()))))
