"""Rename the function and parameters of an answer from the variant's names back to the project's.

A text replacement would also change strings, attributes and variables of other scopes, and a variable that already has
the name would become the parameter. So names are changed by scope, and conflicting names are renamed first.
"""

import builtins
from collections.abc import Iterator, Mapping
from itertools import count
from typing import TypeVar

import libcst as cst
import libcst.matchers as m
from libcst.metadata import (
    Assignment,
    BuiltinScope,
    ClassScope,
    GlobalScope,
    ImportAssignment,
    MetadataWrapper,
    Scope,
    ScopeProvider,
)

from dlbench.agreement.variants import Variant
from dlbench.execution.renaming import leftmost, rename_globals

Scopes = Mapping[cst.CSTNode, Scope | None]
_Named = TypeVar("_Named", bound=cst.CSTNode)


def map_back(code: str, variant: Variant) -> str:
    """The code under the project's names. Code that does not parse, is nested too deeply (a sum of a thousand terms,
    hundreds of `elif`) or does not define the function stays as it is."""
    if variant.function == variant.own_name and not variant.own_parameters:
        return code
    try:
        module = cst.parse_module(code)
        if not _find_targets(module, variant):
            return code
        module = _free_names(module, variant)
        module = _rename_parameters(module, variant)
        return _rename_function(module, variant).code
    except (cst.ParserSyntaxError, RecursionError):
        return code


def _find_targets(module: cst.Module, variant: Variant) -> list[cst.FunctionDef]:
    """Definitions of the function: at module level, else in classes; under the name shown, else the project's."""
    by_place = [*_list_functions(module, in_classes=False)], [*_list_functions(module, in_classes=True)]
    for name in (variant.function, variant.own_name):
        for functions in by_place:
            if found := [function for function in functions if function.name.value == name]:
                return found
    return []


def _list_functions(node: cst.CSTNode, *, in_classes: bool) -> Iterator[cst.FunctionDef]:
    """Functions of the module's scope, including branches; or those of its classes."""
    for child in node.children:
        if isinstance(child, cst.FunctionDef):
            if not in_classes:
                yield child
        elif isinstance(child, cst.ClassDef):
            if in_classes:
                yield from _list_functions(child.body, in_classes=False)
                yield from _list_functions(child.body, in_classes=True)
        else:
            yield from _list_functions(child, in_classes=in_classes)


def _free_names(module: cst.Module, variant: Variant) -> cst.Module:
    """Rename module-level names of the answer that conflict with one of the project's names."""
    needed = set(variant.own_parameters.values()) - {variant.function, variant.own_name}
    if variant.function in (function.name.value for function in _list_functions(module, in_classes=False)):
        needed |= {variant.own_name} - {variant.function}
    used = {node.value for node in _walk(module) if isinstance(node, cst.Name)}
    if not needed & used:
        return module
    scopes = MetadataWrapper(module).resolve(ScopeProvider)
    scope = next((one.globals for one in scopes.values() if one is not None), None)
    taken = sorted(name for name in needed if scope is not None and scope.assignments[name])
    fresh = (next(new for number in count(2) if (new := f"{name}_{number}") not in used) for name in taken)
    return rename_globals(module, dict(zip(taken, fresh, strict=True)))


def _rename_parameters(module: cst.Module, variant: Variant) -> cst.Module:
    if not variant.own_parameters:
        return module
    wrapper = MetadataWrapper(module)
    scopes, edits = wrapper.resolve(ScopeProvider), _Edits()
    for function in _find_targets(wrapper.module, variant):
        there = {parameter.name.value for parameter in _list_parameters(function)}
        for shown, name in variant.own_parameters.items():
            if shown in there and name not in there:
                _rename_parameter(function, shown, name, scopes, edits)
    for call in _find_calls(wrapper, variant):
        for argument in call.args:
            if argument.keyword is not None and argument.keyword.value in variant.own_parameters:
                edits.names[argument.keyword] = variant.own_parameters[argument.keyword.value]
    return wrapper.module.visit(edits)


def _rename_parameter(function: cst.FunctionDef, shown: str, name: str, scopes: Scopes, edits: "_Edits") -> None:
    scope = scopes[function.body.body[0]]
    assert scope is not None
    inner = {one for one in scopes.values() if one is not None and _is_within(one, scope)}
    captured = _is_captured(function.body, name)
    if not captured:
        free = {leftmost(access) for one in inner for access in one.accesses[name] if _is_free(one, name)}
        edits.outer |= dict.fromkeys((node for node in free if isinstance(node, cst.Name)), name)
    if captured or any(one.assignments[name] for one in inner) or _is_bound_elsewhere(function, shown, scope):
        # the body keeps the name shown, as an alias
        edits.names[next(one for one in _list_parameters(function) if one.name.value == shown)] = name
        edits.aliases.setdefault(function, []).append((shown, name))
        return
    for assignment in scope[shown]:
        if isinstance(assignment, Assignment):
            edits.names[assignment.node] = name
        for access in assignment.references:
            edits.names[leftmost(access)] = name


def _is_bound_elsewhere(function: cst.FunctionDef, name: str, scope: Scope) -> bool:
    """An import or an inner function binds the name: too rare to rename in all its forms."""
    nonlocals = [node for node in _walk(function.body) if isinstance(node, cst.Nonlocal)]
    outside = {item.name.value for node in nonlocals for item in node.names}
    return name in outside or any(isinstance(one, ImportAssignment) for one in scope[name])


def _is_captured(body: cst.CSTNode, name: str) -> bool:
    """A `match` statement captures the name; libcst takes captures for uses."""
    captured = m.Name(name)
    return bool(m.findall(body, m.MatchAs(name=captured) | m.MatchStar(name=captured) | m.MatchMapping(rest=captured)))


def _rename_function(module: cst.Module, variant: Variant) -> cst.Module:
    if variant.function == variant.own_name:
        return module
    wrapper = MetadataWrapper(module)
    scopes, edits = wrapper.resolve(ScopeProvider), _Edits()
    for node in m.findall(wrapper.module, m.Attribute(attr=m.Name(variant.function))):
        if isinstance(node, cst.Attribute) and _is_own_object(node.value, variant):
            edits.names[node.attr] = variant.own_name
    targets = [one for one in _find_targets(wrapper.module, variant) if one.name.value == variant.function]
    scope = scopes[targets[0]] if targets else None
    if isinstance(scope, ClassScope) and any(one.scope is scope for one in scope[variant.own_name]):
        targets = []  # the class defines both names: the project's is the one to judge
    for target in targets:
        edits.names[target] = variant.own_name
        if scopes[target] is not scope:
            continue
        for assignment in scope[variant.function] if scope is not None else ():
            if isinstance(assignment, Assignment):
                edits.names[assignment.node] = variant.own_name
            for access in assignment.references:
                if _is_shadowed(access.scope, scope, variant.function):
                    continue
                hidden = access.scope is not scope and not _is_free(access.scope, variant.own_name)
                if isinstance(access.node, cst.Name):
                    (edits.outer if hidden else edits.names)[access.node] = variant.own_name
    return wrapper.module.visit(edits)


def _find_calls(wrapper: MetadataWrapper, variant: Variant) -> Iterator[cst.Call]:
    """Calls of the function itself, and `partial` of it."""
    scopes = wrapper.resolve(ScopeProvider)
    for call in _walk(wrapper.module):
        if isinstance(call, cst.Call):
            called = call.func
            name = called.attr if isinstance(called, cst.Attribute) else called
            if isinstance(name, cst.Name) and name.value == "partial" and call.args:
                called = call.args[0].value
            if _means_target(called, scopes, variant):
                yield call


def _means_target(node: cst.BaseExpression, scopes: Scopes, variant: Variant) -> bool:
    if isinstance(node, cst.Name):
        scope = scopes.get(node)
        return node.value in (variant.function, variant.own_name) and scope is not None and _is_free(scope, node.value)
    if isinstance(node, cst.Attribute):
        return node.attr.value in (variant.function, variant.own_name) and _is_own_object(node.value, variant)
    return False


def _is_own_object(node: cst.BaseExpression, variant: Variant) -> bool:
    """`self`, its class, or `super()`: objects whose methods are those of the target's class."""
    own_type = m.Call(m.Name("type"), [m.Arg(m.Name("self"))]) | m.Attribute(m.Name("self"), m.Name("__class__"))
    own_name = m.Name("self") | m.Name("cls") | m.Name(variant.owner)
    return m.matches(node, own_name | own_type | m.Call(m.Name("super")))


def _is_free(scope: Scope, name: str) -> bool:
    """Whether the name, seen from this scope, is global, a builtin or unbound."""
    return all(isinstance(found.scope, GlobalScope | BuiltinScope) for found in scope[name])


def _is_shadowed(scope: Scope, outer: Scope | None, name: str) -> bool:
    """Whether a scope in between binds the name. libcst takes `x` in `x = x` for the outer one."""
    while scope is not outer and scope.parent is not scope:
        if not isinstance(scope, ClassScope) and scope.assignments[name]:
            return True
        scope = scope.parent
    return False


def _is_within(scope: Scope, outer: Scope) -> bool:
    while scope is not outer and scope.parent is not scope:
        scope = scope.parent
    return scope is outer


def _list_parameters(function: cst.FunctionDef) -> list[cst.Param]:
    params = function.params
    return [*params.posonly_params, *params.params, *params.kwonly_params]


def _walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _walk(child)


class _Edits(cst.CSTTransformer):
    """`names`: nodes with their new name; `outer`: global or builtin names to look up explicitly, since a parameter now
    hides them; `aliases`: (old, new) names that the first line of a body assigns."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[cst.CSTNode, str] = {}
        self.outer: dict[cst.CSTNode, str] = {}
        self.aliases: dict[cst.FunctionDef, list[tuple[str, str]]] = {}
        self._quote = '"'

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        # before Python 3.12 an f-string must not contain its own quotes
        self._quote = "'" if '"' in node.start else '"'

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.FormattedString:
        self._quote = '"'
        return updated_node

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        if original_node in self.names:
            return updated_node.with_changes(value=self.names[original_node])
        if original_node in self.outer:
            name = self.outer[original_node]
            is_builtin = hasattr(builtins, name)
            text = f"{self._quote}{'builtins' if is_builtin else name}{self._quote}"
            return cst.parse_expression(f"__import__({text}).{name}" if is_builtin else f"globals()[{text}]")
        return updated_node

    def _rename(self, original_node: cst.CSTNode, updated_node: _Named) -> _Named:
        if original_node not in self.names:
            return updated_node
        return updated_node.with_changes(name=cst.Name(self.names[original_node]))

    leave_Param = leave_ClassDef = _rename

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        updated_node = self._rename(original_node, updated_node)
        for shown, name in self.aliases.get(original_node, ()):
            updated_node = updated_node.with_changes(body=_begin_with(updated_node.body, f"{shown} = {name}"))
        return updated_node


def _begin_with(body: cst.BaseSuite, code: str) -> cst.BaseSuite:
    line = cst.ensure_type(cst.parse_statement(code), cst.SimpleStatementLine)
    if isinstance(body, cst.SimpleStatementSuite):
        return cst.IndentedBlock([line, cst.SimpleStatementLine(body.body)])
    match body.body[0]:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            first = 1
        case _:
            first = 0
    return body.with_changes(body=[*body.body[:first], line, *body.body[first:]])
