"""Which functions does one function call, and on what?

Its body is read with what is known by now. Branches are all taken. A function handed to another library is taken to be
called by it, and to be what comes back (`jit`, `partial`, `vmap`).
"""

import ast
from collections.abc import Iterable
from typing import Protocol

from dlbench.construction.calls.sources import ClassDef, Module, last_name
from dlbench.construction.calls.tests import read_handed
from dlbench.construction.calls.things import NOTHING, Bound, Instance, Lookup, Super, Thing, Things, union
from dlbench.dataset.target import Function
from dlbench.parsing import parse

_PASSES = 3
MOST_THINGS = 4
"""What could be more things than this is something the text does not tell."""
_CALLED = ("__call__", "forward", "call")
_CREATED = ("__new__", "__init__", "__post_init__")
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.MatMult: "matmul", ast.Pow: "pow",
    ast.Mod: "mod", ast.FloorDiv: "floordiv", ast.BitAnd: "and", ast.BitOr: "or", ast.USub: "neg", ast.Invert: "invert",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.In: "contains",
}  # fmt: skip
_BUILTIN_CALLS = {
    "len": "__len__", "iter": "__iter__", "next": "__next__", "str": "__str__", "repr": "__repr__", "hash": "__hash__",
}  # fmt: skip
_OF_OTHERS = frozenset({*dir(dict), *dir(str), *dir(list), "to", "cpu", "cuda", "train", "eval", "step", "size", "fit"})
"""Methods that objects of other libraries have too; a bare name says nothing of whose is meant."""

Key = tuple[object, ...]


class Book(Protocol):
    """Where visits write down what they find, and read what others found. A reader is visited again when it changes."""

    lookup: Lookup

    def read(self, reader: Bound, key: Key) -> Things: ...

    def learn(self, key: Key, things: Things) -> None: ...

    def call(self, caller: Bound, callee: Bound) -> None: ...


class Visit:
    """One function, gone through once more with what is known by now."""

    def __init__(self, graph: Book, node: Bound) -> None:
        self.graph, self.lookup, self.node = graph, graph.lookup, node
        self.module: Module = node.function.module
        self.receiver = node.receiver
        self.locals: dict[str, Things] = {}
        self._globals_open: set[tuple[Module, str]] = set()

    def go(self) -> None:
        function = self.node.function.node
        self._take_parameters(function)
        if self.module.is_test_code:
            self._take_handed()
        for _ in range(_PASSES):
            before = dict(self.locals)
            for statement in function.body:
                self._statement(statement, function)
            if before == self.locals:
                break

    # what is bound before the body

    def _take_parameters(self, function: Function) -> None:
        arguments = function.args
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for place, argument in enumerate(names):
            is_first = (
                place == 0
                and self.node.function.owner is not None
                and "staticmethod" not in self.node.function.decorators
            )
            if is_first and self.receiver is not None:
                is_class = "classmethod" in self.node.function.decorators or argument.arg == "cls"
                self.locals[argument.arg] = frozenset({self.receiver if is_class else Instance(self.receiver)})
            else:
                self.locals[argument.arg] = self._annotated(argument.annotation) | self.graph.read(
                    self.node, ("parameter", self.node, argument.arg)
                )
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                self.locals[rest.arg] = self.graph.read(self.node, ("parameter", self.node, rest.arg))

    def _take_handed(self) -> None:
        """What pytest hands a test or a fixture."""
        handed = read_handed(self.lookup, self.node)
        for name, fixtures in handed.fixtures.items():
            for fixture in fixtures:
                self.graph.call(self.node, fixture)
                self.locals[name] = self.locals.get(name, NOTHING) | self.graph.read(self.node, ("returned", fixture))
        for name, values in handed.values.items():
            found = union(self._elsewhere(self.module, value) for value in values)
            for local in list(self.locals) if name == "*" else [name]:
                self.locals[local] = self._few(self.locals.get(local, NOTHING) | found)

    def _annotated(self, annotation: ast.expr | None) -> Things:
        """Objects of the classes that an annotation names, those of a union too."""
        match annotation:
            case None:
                return NOTHING
            case ast.Constant(value=str(text)):
                try:
                    return self._annotated(parse(text, mode="eval").body)
                except SyntaxError:
                    return NOTHING
            case ast.BinOp(left=left, right=right):
                return self._annotated(left) | self._annotated(right)
            case ast.Subscript(value=outer, slice=inner) if last_name(outer) in ("Optional", "Union", "list", "List"):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return union(self._annotated(part) for part in parts)
        found = self.lookup.expression(self.module, annotation)
        return frozenset(Instance(thing) for thing in found if isinstance(thing, ClassDef))

    # statements

    def _statement(self, node: ast.stmt, function: Function) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                # made here, so called here as far as anybody can tell
                for inner in node.body:
                    self._statement(inner, node)
                return
            case ast.ClassDef():
                for inner in node.body:
                    self._statement(inner, function)
                return
            case ast.Return(value=ast.expr() as value):
                found = self._value(value)
                if function is self.node.function.node:
                    self.graph.learn(("returned", self.node), found)
                return
            case ast.Assign(targets=targets, value=value):
                found = self._value(value)
                for target in targets:
                    self._bind(target, found, value)
                return
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                self._bind(target, (self._value(value) if value else NOTHING) | self._annotated(annotation), value)
                return
            case ast.AugAssign(target=target, op=operator, value=value):
                self._value(value)
                self._operate(self._value(target), operator)
                return
            case ast.For(target=target, iter=iterated) | ast.AsyncFor(target=target, iter=iterated):
                self._bind(target, self._iterate(self._value(iterated)), None)
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    found = self._value(item.context_expr)
                    self._call_members(found, ("__enter__", "__exit__"))
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, found, None)
        for child in ast.iter_child_nodes(node):
            self._part(child, function)

    def _part(self, child: ast.AST, function: Function) -> None:
        if isinstance(child, ast.stmt):
            self._statement(child, function)
        elif isinstance(child, ast.expr):
            self._value(child)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            for inner in child.body:
                self._statement(inner, function)

    def _bind(self, target: ast.expr, found: Things, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self.locals[name] = self._few(self.locals.get(name, NOTHING) | found)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                own = value.elts if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts) else None
                for place, part in enumerate(parts):
                    self._bind(part, self._value(own[place]) if own else found, own[place] if own else None)
            case ast.Starred(value=inner):
                self._bind(inner, found, None)
            case ast.Attribute(value=owner, attr=name):
                for thing in self._value(owner):
                    if isinstance(thing, Instance):
                        self.graph.learn(("attribute", thing.of, name), found)
                        self._call_properties(thing, name, setters=True)
            case ast.Subscript(value=owner):
                held = self._value(owner)
                self._call_members(held, ("__setitem__",))
                if found and isinstance(owner, ast.Name | ast.Attribute):
                    self._bind(owner, found, None)

    @staticmethod
    def _few(found: Things) -> Things:
        return found if len(found) <= MOST_THINGS else NOTHING

    # expressions

    def _value(self, node: ast.expr) -> Things:
        match node:
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute(value=ast.Name(id="request"), attr="param") if self.module.is_test_code:
                return self._name("request")
            case ast.Yield(value=ast.expr() as value) | ast.YieldFrom(value=value):
                found = self._value(value)
                self.graph.learn(("returned", self.node), found)
                return found
            case ast.Attribute(value=value, attr=name):
                return self._few(union(self._attribute(thing, name) for thing in self._value(value)))
            case ast.Call():
                return self._few(self._call(node))
            case ast.Lambda(args=arguments, body=body):
                for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
                    self.locals.setdefault(argument.arg, NOTHING)
                return self._value(body)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._operate(self._value(left), operator) | self._operate(self._value(right), operator, "r")
            case ast.UnaryOp(op=operator, operand=operand):
                return self._operate(self._value(operand), operator)
            case ast.Compare(left=left, ops=operators, comparators=others):
                sides = [self._value(left), *(self._value(other) for other in others)]
                for place, compared in enumerate(operators):
                    self._operate(sides[place + 1] if isinstance(compared, ast.In) else sides[place], compared)
                return NOTHING
            case ast.Subscript(value=value, slice=inner):
                self._value(inner)
                held = self._value(value)
                return held | self._call_members(held, ("__getitem__",))
            case (
                ast.ListComp(generators=generators)
                | ast.SetComp(generators=generators)
                | ast.GeneratorExp(generators=generators)
                | ast.DictComp(generators=generators)
            ):
                for generator in generators:
                    self._bind(generator.target, self._iterate(self._value(generator.iter)), None)
                    for condition in generator.ifs:
                        self._value(condition)
                if isinstance(node, ast.DictComp):
                    return self._value(node.key) | self._value(node.value)
                return self._value(node.elt)
            case ast.NamedExpr(target=target, value=value):
                found = self._value(value)
                self._bind(target, found, value)
                return found
        # containers, choices, awaited and starred values: what their parts are
        return self._few(
            union(self._value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        )

    def _name(self, name: str) -> Things:
        if name in self.locals:
            return self.locals[name]
        return self._global(self.module, name)

    def _global(self, module: Module, name: str) -> Things:
        found = self.lookup.global_name(module, name)
        key = (module, name)
        if found or key in self._globals_open:
            return found
        self._globals_open.add(key)
        found = union(
            self._elsewhere(module, value) for value in module.names.get(name, []) if isinstance(value, ast.expr)
        )
        for dotted in [] if found else module.imports.get(name, []):
            origin, _, last = dotted.rpartition(".")
            home = self.lookup.sources.find_module(origin)
            found |= self._global(home, last) if home is not None else NOTHING
        self._globals_open.discard(key)
        return found

    def _elsewhere(self, module: Module, value: ast.expr) -> Things:
        """A value at the top of a module: made on import, so nothing that it calls is called here."""
        other = Visit(_Silent(self.graph), self.node)
        other.module, other.receiver, other._globals_open = module, None, self._globals_open
        return other._value(value)

    def _attribute(self, thing: Thing, name: str) -> Things:
        match thing:
            case Module():
                found = self.lookup.attribute_of_module(thing, name)
                return found or self._global(thing, name)
            case ClassDef():
                found = self.lookup.member(thing, name, thing)
                value = None if found else self.lookup.value_of_member(thing, name)
                return self._elsewhere(*value) if value else found
            case Super():
                return self._reached(self.lookup.member_above(thing, name))
            case Instance(of=owner):
                found = self._reached(self.lookup.member(owner, name, owner))
                value = None if found else self.lookup.value_of_member(owner, name)
                held = self.graph.read(self.node, ("attribute", owner, name))
                if not found and not value and not held:
                    return self._reached(self.lookup.member(owner, "__getattr__", owner), only_calls=True)
                return found | held | (self._elsewhere(*value) if value else NOTHING)
        return NOTHING

    def _reached(self, found: Things, only_calls: bool = False) -> Things:
        """A property is called by being read."""
        out: set[Thing] = set()
        for thing in found:
            if isinstance(thing, Bound) and (thing.function.is_property or only_calls):
                self.graph.call(self.node, thing)
                out |= self.graph.read(self.node, ("returned", thing))
            else:
                out.add(thing)
        return frozenset(out)

    def _call_properties(self, thing: Instance, name: str, *, setters: bool) -> None:
        for found in self.lookup.member(thing.of, name, thing.of):
            if isinstance(found, Bound) and setters == ("setter" in found.function.decorators):
                self.graph.call(self.node, found)

    def _call_members(self, held: Things, names: Iterable[str]) -> Things:
        found: set[Thing] = set()
        for thing in held:
            if isinstance(thing, Instance):
                for name in names:
                    for member in self.lookup.member(thing.of, name, thing.of):
                        if isinstance(member, Bound):
                            self.graph.call(self.node, member)
                            found |= self.graph.read(self.node, ("returned", member))
        return frozenset(found)

    def _iterate(self, held: Things) -> Things:
        return held | self._call_members(held, ("__iter__", "__next__", "__getitem__", "__len__"))

    def _operate(self, held: Things, operator: ast.AST, side: str = "") -> Things:
        name = _OPERATORS.get(type(operator))
        return self._call_members(held, (f"__{side}{name}__",)) if name else NOTHING

    # calls

    def _call(self, node: ast.Call) -> Things:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and self.receiver and self.node.function.owner:
            return frozenset({Super(self.receiver, self.node.function.owner)})
        callees = self._value(node.func)
        if not callees and isinstance(node.func, ast.Attribute):
            callees = self._guess(node.func)
        given = [self._value(argument) for argument in node.args]
        named = {keyword.arg: self._value(keyword.value) for keyword in node.keywords}
        if not callees:
            return self._call_outside(node, [*given, *named.values()])
        found: set[Thing] = set()
        for callee in callees:
            match callee:
                case Bound():
                    found |= self._enter(callee, node, given, named)
                case ClassDef():
                    found.add(Instance(callee))
                    for name in _CREATED:
                        for member in self.lookup.member(callee, name, callee):
                            if isinstance(member, Bound):
                                self._enter(member, node, given, named)
                case Instance(of=owner):
                    for name in _CALLED:
                        for member in self.lookup.member(owner, name, owner):
                            if isinstance(member, Bound):
                                found |= self._enter(member, node, given, named)
        return frozenset(found)

    def _enter(self, callee: Bound, node: ast.Call, given: list[Things], named: dict[str | None, Things]) -> Things:
        self.graph.call(self.node, callee)
        arguments = callee.function.node.args
        names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]]
        takes_self = callee.receiver is not None and "staticmethod" not in callee.function.decorators
        for place, things in enumerate(given):
            is_rest = isinstance(node.args[place], ast.Starred)
            own = names[1:] if takes_self else names
            name = own[place] if place < len(own) and not is_rest else arguments.vararg.arg if arguments.vararg else ""
            if name and things:
                self.graph.learn(("parameter", callee, name), things)
        for keyword, things in named.items():
            known = keyword in names or any(argument.arg == keyword for argument in arguments.kwonlyargs)
            name = keyword if keyword and known else arguments.kwarg.arg if arguments.kwarg else ""
            if name and things:
                self.graph.learn(("parameter", callee, name), things)
        return self.graph.read(self.node, ("returned", callee)) | self._annotated_return(callee)

    def _annotated_return(self, callee: Bound) -> Things:
        annotation = callee.function.node.returns
        if annotation is None:
            return NOTHING
        if last_name(annotation) == "Self" and callee.receiver:
            return frozenset({Instance(callee.receiver)})
        other = Visit(self.graph, callee)
        return other._annotated(annotation)

    def _call_outside(self, node: ast.Call, given: list[Things]) -> Things:
        """Another library's: it calls the functions that it is given, and gives them back in some form."""
        handed = union(given)
        for thing in handed:
            if isinstance(thing, Bound):
                self.graph.call(self.node, thing)
        if isinstance(node.func, ast.Name) and node.func.id in _BUILTIN_CALLS:
            return self._call_members(handed, (_BUILTIN_CALLS[node.func.id],))
        if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass", "type", "print"):
            return NOTHING
        return handed

    def _guess(self, node: ast.Attribute) -> Things:
        """A method of an unknown object, where the project has one method of that name and no other."""
        if self._is_known_outside(node.value):
            return NOTHING
        methods = self.lookup.sources.methods.get(node.attr, [])
        if len(methods) != 1 or node.attr in _OF_OTHERS:
            return NOTHING
        return frozenset({Bound(methods[0], methods[0].owner)})

    def _is_known_outside(self, node: ast.expr) -> bool:
        """`torch.x.y`: a name that an import binds and that leads out of the project."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.locals and node.id in self.module.imports


class _Silent:
    """A graph that is read and not added to."""

    def __init__(self, graph: Book) -> None:
        self._graph = graph
        self.lookup: Lookup = graph.lookup

    def read(self, reader: Bound, key: Key) -> Things:
        return self._graph.read(reader, key)

    def learn(self, key: Key, things: Things) -> None:
        pass

    def call(self, caller: Bound, callee: Bound) -> None:
        pass
