"""List what the files of an answer use that leads to the judge, beyond what the release's own files use.

The code of an answer of many files shares its process with the tests. It may do what a library does, so this screen is
wider than the one for functions (`capabilities.py`): it names modules, attributes and definitions that read frames and
memory, run text, replace what others define, or decide comparisons. An answer with any of them is unconfirmed.
"""

import ast
from collections.abc import Collection, Iterator

from dlbench.execution.file_sets import FileSet
from dlbench.execution.ordinary_names import list_aliases, list_imports
from dlbench.execution.scopes import Function, Scope, get_root, get_text, list_bound, list_stored
from dlbench.parsing import parse

_MODULES = frozenset({
    "gc", "ctypes", "pytest", "pluggy", "unittest", "nose", "hypothesis", "marshal", "code", "codeop", "bdb", "pdb",
    "trace", "tracemalloc", "faulthandler", "runpy", "imp", "zipimport", "pkgutil", "subprocess", "multiprocessing",
    "socket", "signal", "atexit", "site", "pickle", "cPickle", "dill", "cloudpickle", "shelve", "cffi", "dis", "opcode",
    "threading", "concurrent", "asyncio", "builtins", "linecache", "mock", "tests", "test", "conftest", "weakref",
    "sitecustomize", "usercustomize", "mmap", "resource", "pty", "fcntl", "sysconfig",
    "copyreg", "timeit", "doctest", "cProfile", "profile", "pydoc", "numexpr", "pkg_resources", "setuptools", "joblib",
})  # fmt: skip
_PART_USABLE = {
    module: frozenset(names.split())
    for module, names in {
        "sys": "version_info version maxsize platform byteorder stdout stderr stdin float_info exit getsizeof argv "
        "executable hexversion implementation intern exc_info getrecursionlimit setrecursionlimit",
        "inspect": "signature Signature Parameter isclass isfunction ismethod isabstract isbuiltin isgenerator getdoc "
        "isgeneratorfunction cleandoc getfullargspec getmro BoundArguments iscoroutinefunction isroutine unwrap",
        "importlib": "metadata resources",
        "types": "SimpleNamespace MappingProxyType NoneType EllipsisType UnionType GenericAlias MethodType "
        "GeneratorType TracebackType DynamicClassAttribute",
        "traceback": "format_exc print_exc",
        "importlib.metadata": "version PackageNotFoundError metadata",
        "logging": "getLogger Logger basicConfig info debug warning error exception critical log INFO DEBUG WARNING "
        "ERROR CRITICAL NOTSET StreamHandler FileHandler Formatter NullHandler Handler Filter captureWarnings",
    }.items()
}
"""Of these modules only some names are harmless."""
_OF_SYSTEM = frozenset({
    "_exit", "abort", "kill", "killpg", "system", "popen", "dup", "dup2", "pipe", "write", "read", "open", "fdopen",
    "memfd_create", "fork", "forkpty", "execv", "execve", "execvp", "spawnv", "posix_spawn", "symlink", "link", "chmod",
    "sendfile", "pwrite", "pread", "readv", "writev", "closerange", "close", "environb", "putenv",
})  # fmt: skip
"""Functions of `os` that act on processes and open files."""
_PARTS = frozenset({
    "testing", "_testing", "test", "test_util", "overrides", "ctypeslib", "cpp_extension", "_C", "stride_tricks",
    "as_strided", "_pytest", "_python_dispatch", "py_run_string", "meta_path", "path_hooks", "modules", "ma", "masked",
    "set_default_dtype", "set_default_device", "set_default_tensor_type", "set_numeric_ops", "library", "interpreters",
    "get_type_hints", "ForwardRef", "read_pickle", "unsafe_load", "full_load", "sympify", "lambdify", "parse_expr",
    "make_dataclass", "new_class", "dispatch_for_api", "sys", "gc", "builtins", "importlib", "os",
    "inspect", "ctypes", "pickle", "linecache", "subprocess", "threading", "_dynamo",
})  # fmt: skip
"""Parts of dotted names of libraries."""
_BUILTINS = frozenset({
    "exec", "eval", "compile", "globals", "locals", "__import__", "breakpoint", "open", "memoryview", "input",
    "__builtins__", "__loader__", "__spec__",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "f_trace", "tb_frame", "tb_next", "gi_frame", "gi_code",
    "cr_frame", "cr_code", "ag_frame", "ag_code", "cell_contents", "currentframe", "__globals__", "__closure__",
    "__code__", "__builtins__", "__subclasses__", "__self__", "__loader__", "__getattribute__", "__kwdefaults__",
    "__spec__", "data_ptr", "sys", "gc", "builtins", "importlib", "inspect", "ctypes", "as_strided",
    "untyped_storage", "mro", "__mro__", "__base__", "__bases__",
})  # fmt: skip
_DECIDING = frozenset({
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__instancecheck__", "__subclasscheck__",
    "__array_ufunc__", "__array_function__", "__torch_function__", "__torch_dispatch__", "__getattribute__",
    "__class__", "__sub__", "__rsub__", "__abs__", "__isub__", "__round__", "__del__", "__array_wrap__",
    "__jax_array__", "__array_priority__", "__array_finalize__", "__tf_tensor__", "__contains__",
})  # fmt: skip
"""Methods that decide the result of a comparison."""
_FIELDS = frozenset({"__annotations__", "__match_args__"})
"""Names from them are read, and by dataclasses run, as code."""
_COMPARING = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
_LOADS = frozenset({"torch.load", "yaml.load", "torch.package", "numpy.lib.format"})
"""They run what a file says."""
_EVALUATING = frozenset({"eval", "query"})
"""Methods of tables that run a text; `eval` of a model takes none."""
_TEXTS = ("/proc", "_pytest", "__import__", "exec(", "eval(", "__globals__", "__builtins__", "site-packages", "f_back")
_BY_NAME = frozenset({"getattr", "setattr", "delattr", "hasattr"})
_BY_TEXT = frozenset({"operator.attrgetter", "operator.methodcaller"})
"""Unlike `getattr`, they look at no name when they run."""
_SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})


_FRAMES = frozenset({
    "inspect.stack", "inspect.currentframe", ".currentframe", "sys._getframe", ".f_back",
})  # fmt: skip
"""Whoever uses one of these reaches what the others reach."""


def list_uses(release: FileSet, packages: Collection[str]) -> set[str]:
    """What leads to the judge and is in these files. `packages`: top-level names of the project's own modules."""
    return {what for source in release.values() for what, _ in _list_uses(source or b"", packages)}


def screen_files(answer: FileSet, release: FileSet, packages: Collection[str]) -> list[str]:
    """What the answer uses beyond the release, each with its place."""
    known = list_uses(release, packages)
    known |= _FRAMES if known & _FRAMES else set()
    found = []
    for path, source in sorted(answer.items()):
        uses = sorted(set(_list_uses(source or b"", packages)), key=lambda use: (use[1], use[0]))
        found += [f"{path}:{line}: {what}" for what, line in uses if what not in known]
    return found


def _list_uses(source: bytes, packages: Collection[str]) -> Iterator[tuple[str, int]]:
    try:
        tree = parse(source)
        yield from _Screen(tree, packages).visit(tree, frozenset(list_stored(tree)), "")
    except (SyntaxError, ValueError):
        return  # it cannot be imported either
    except RecursionError:
        yield "code that is nested too deeply to be read", 1


class _Screen:
    def __init__(self, tree: ast.Module, packages: Collection[str]) -> None:
        self.packages = packages
        self.members: set[int] = set()
        """What stands in the body of a class."""
        self.called: set[int] = set()
        """Functions that get attributes by text, where they are called."""
        self.aliases: dict[str, set[str]] = {}
        for bound, meaning in list_aliases(tree):
            if not self._is_own(meaning):
                self.aliases.setdefault(bound, set()).add(meaning)
        self.modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        for node in ast.walk(tree):  # another name for a module or for what is in one
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as value):
                    meanings = set(self._read_meanings(value))
                    if meanings:
                        self.aliases.setdefault(name, set()).update(meanings)

    def _is_own(self, meaning: str) -> bool:
        parts = meaning.split(".")
        is_test = any(part in {"tests", "test", "conftest"} or part.startswith("test_") for part in parts)
        return (meaning.startswith(".") or parts[0] in self.packages) and not is_test

    def _read_meanings(self, node: ast.expr) -> list[str]:
        """What a dotted name stands for, if it begins with something imported from outside the project."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return []
        root = get_root(node)
        if root is None or get_text(node).startswith("..."):
            return []
        rest = get_text(node).partition(".")[2]
        return [f"{one}.{rest}" if rest else one for one in self.aliases.get(root.id, ())]

    def visit(self, node: ast.AST, local: frozenset[str], owner: str) -> Iterator[tuple[str, int]]:
        """`local`: names that are bound around the node, so that they are no builtins. `owner`: the class around."""
        line = getattr(node, "lineno", 0)
        for what in self._inspect(node, local, owner):
            yield what, line
        if isinstance(node, Scope):
            local = local | list_bound(node)
        if isinstance(node, ast.ClassDef):
            owner = node.name
        for child in ast.iter_child_nodes(node):
            if not _is_docstring(child, node):
                yield from self.visit(child, local, owner)

    def _inspect(self, node: ast.AST, local: frozenset[str], owner: str) -> Iterator[str]:
        match node:
            case ast.Import() | ast.ImportFrom():
                for name, is_star in list_imports(node):
                    if not self._is_own(name):
                        yield from self._check_meaning(name, is_import=True)
                        if is_star:
                            yield f"from {name} import *"
            case ast.Name(id=name, ctx=ast.Load()):
                if name in _BUILTINS and name not in local:
                    yield name
                for meaning in self.aliases.get(name, ()):
                    yield from self._check_meaning(meaning)
                    if meaning in _BY_TEXT and id(node) not in self.called:
                        yield f"{meaning} as a value"
            case ast.Attribute(attr=attr, ctx=ast.Load(), value=value):
                if attr in _ATTRIBUTES:
                    yield f".{attr}"
                for meaning in self._read_meanings(node):
                    yield from self._check_meaning(meaning)
                    if meaning in _BY_TEXT and id(node) not in self.called:
                        yield f"{meaning} as a value"
                if attr == "__dict__":
                    yield from (f"{meaning}.__dict__" for meaning in self._read_meanings(value))
            case ast.MatchClass(kwd_attrs=names):
                yield from (f".{name}" for name in names if name in _ATTRIBUTES)
            case (
                ast.Attribute(value=value, attr=attr)
                | ast.Subscript(value=value, ctx=ast.Store() | ast.Del(), slice=ast.Constant(value=str(attr)))
            ):
                yield from self._check_store(value, attr)
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                yield from self._check_store(value, "[...]")
            case ast.ClassDef(name=name):
                self.members.update(map(id, node.body))
                yield from self._check_class(node)
            case ast.FunctionDef(name=name) if name in _DECIDING and id(node) not in self.members:
                yield f"{name} outside a class"
            case ast.FunctionDef(name=name, args=arguments) if owner and name in _COMPARING:
                operand = [one.arg for one in arguments.args[1:2]]
                read = {one.id for part in node.body for one in ast.walk(part) if isinstance(one, ast.Name)}
                if not operand or operand[0] not in read:
                    yield f"{owner}.{name} ignores its operand"
            case ast.Constant(value=str(text)):
                told = text.replace(".eval()", "")  # what messages and docstrings say of a model
                if text in _DECIDING | _ATTRIBUTES or any(part in told for part in _TEXTS):
                    yield f"the text {text[:40]!r}"
            case ast.Call():
                yield from self._check_call(node)
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                yield from self._check_values([value])
            case ast.List(elts=values) | ast.Tuple(elts=values) | ast.Set(elts=values) | ast.Dict(values=values):
                yield from self._check_values(values)

    def _check_meaning(self, meaning: str, *, is_import: bool = False) -> Iterator[str]:
        top, _, rest = meaning.partition(".")
        if top in _MODULES or (top.startswith("_") and not top.startswith("__")):
            yield top
        elif (top in self.packages or meaning.startswith(".")) and is_import:
            yield f"the tests ({meaning})"
        elif (
            meaning in _LOADS
            or (top == "os" and rest.partition(".")[0] in _OF_SYSTEM)
            or any(meaning.startswith(f"{one}.") and not _is_listed(meaning, one) for one in _PART_USABLE)
        ):
            yield meaning
        elif parts := _PARTS & set(rest.split(".")):
            yield f"{top}.….{min(parts)}"

    def _check_store(self, value: ast.expr, attr: str) -> Iterator[str]:
        meanings = self._read_meanings(value)
        root = get_root(value)
        if not meanings and root is not None and isinstance(value, ast.Attribute | ast.Subscript):
            meanings = [f"{one}.…" for one in self.aliases.get(root.id, ())]
        yield from (f"{meaning}.{attr} = …" for meaning in meanings)
        if attr in _DECIDING | _ATTRIBUTES:
            yield f".{attr} = …"

    def _check_class(self, node: ast.ClassDef) -> Iterator[str]:
        for part in node.body:
            names = [part.name] if isinstance(part, Function) else []
            if isinstance(part, ast.Assign | ast.AnnAssign):
                targets = part.targets if isinstance(part, ast.Assign) else [part.target]
                names = [one.id for one in targets if isinstance(one, ast.Name)]
            yield from (f"{node.name}.{name}" for name in names if name in _DECIDING | _FIELDS)
        for keyword in node.keywords:
            if keyword.arg is None or (keyword.arg == "metaclass" and "ABCMeta" not in ast.dump(keyword.value)):
                yield f"class {node.name} with a metaclass"

    def _check_call(self, node: ast.Call) -> Iterator[str]:
        arguments = [*node.args, *(one.value for one in node.keywords)]
        yield from (f"{one.arg}=" for one in node.keywords if one.arg in {"allow_pickle", "eval_str"})
        match node:
            case ast.Call(func=ast.Name(id="type"), args=[_, _, _]):
                yield "type(…, …, …)"
            case ast.Call(func=ast.Attribute(attr=attr), args=[_, *_]) if attr in _EVALUATING:
                yield f".{attr}(…)"
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[target, named, *_]) if (
                name in _BY_NAME | _SETTERS
            ):
                written = named.value if isinstance(named, ast.Constant) else None
                if name in _SETTERS:
                    yield from self._check_store(target, str(written or "…"))
                elif isinstance(written, str):
                    for meaning in self._read_meanings(target):
                        yield from self._check_meaning(f"{meaning}.{written}")
                elif any(one.partition(".")[0] in {*_PART_USABLE, "os"} for one in self._read_meanings(target)):
                    yield f"a computed name of {self._read_meanings(target)[0]}"
                arguments = arguments[1:]
        if isinstance(node.func, ast.Name) and node.func.id in _BY_NAME:
            yield from ("a computed name" for one in node.args if _is_disguised(one))
        if _BY_TEXT & {*self._read_meanings(node.func)}:
            self.called.add(id(node.func))
            yield from ("a computed name" for one in node.args[:1] if not isinstance(one, ast.Constant))
        yield from self._check_values(arguments)

    def _check_values(self, values: Collection[ast.expr | None]) -> Iterator[str]:
        """A module that is handed on could be changed where nobody sees its name."""
        for value in values:
            if isinstance(value, ast.Name | ast.Attribute):
                for meaning in self._read_meanings(value):
                    if meaning in self.modules:
                        yield f"{meaning} as a value"


def _is_listed(meaning: str, module: str) -> bool:
    """Whether the name is harmless, or belongs to a listed module below."""
    name = meaning.removeprefix(f"{module}.").partition(".")[0]
    return name in _PART_USABLE[module] or f"{module}.{name}" in _PART_USABLE


def _is_disguised(name: ast.expr) -> bool:
    """Whether a name is put together from pieces, as a special name would be."""
    texts = [one.value for one in ast.walk(name) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    called = {one.attr for one in ast.walk(name) if isinstance(one, ast.Attribute)}
    is_put_together = not isinstance(name, ast.Constant) and any("__" in text for text in texts)
    return is_put_together or bool({"join", "replace", "decode", "translate"} & called)


def _is_docstring(node: ast.AST, parent: ast.AST) -> bool:
    """A text that is a statement; it has no effect."""
    return isinstance(parent, ast.Expr) and isinstance(node, ast.Constant)
