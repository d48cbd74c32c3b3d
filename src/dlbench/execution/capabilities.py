"""Decide from a candidate's code whether it uses more than honest code needs: then its pass must be confirmed.

Ordinary code computes: it calls public functions of numerical libraries and harmless modules of the standard library,
and uses what the reference uses. It reads no frames, memory, files or computed names, defines no classes, and changes
attributes of nothing but its own object. Code that does is unusual. It is still judged, but watched, and a pass counts
only if a replay confirms it. The list says what is known to be harmless; everything else is unusual.
"""

import ast
import re
from collections.abc import Iterator

_STANDARD = {
    "__future__", "abc", "array", "base64", "bisect", "calendar", "cmath", "collections", "contextlib", "copy", "csv",
    "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "heapq", "itertools", "json",
    "logging", "math", "numbers", "operator", "random", "re", "secrets", "statistics", "string", "struct", "textwrap",
    "time", "typing", "typing_extensions", "unicodedata", "uuid", "warnings", "zlib",
}  # fmt: skip
_LIBRARIES = {
    "numpy", "scipy", "torch", "torchvision", "torchaudio", "pandas", "polars", "sklearn", "jax", "flax", "optax",
    "chex", "tensorflow", "keras", "einops", "cv2", "PIL", "skimage", "networkx", "tqdm", "xarray", "statsmodels",
    "transformers",
}  # fmt: skip
_BUILTINS = {
    "eval", "exec", "compile", "globals", "locals", "vars", "setattr", "delattr", "open", "breakpoint", "memoryview",
    "input", "help", "exit", "quit", "dir", "type", "getattr", "hasattr", "__import__",
}  # fmt: skip
_DANGEROUS = {
    "sys", "os", "gc", "inspect", "builtins", "importlib", "ctypes", "subprocess", "threading", "marshal", "pickle",
    "linecache", "traceback", "faulthandler", "runpy", "unittest", "pytest", "pluggy", "multiprocessing", "copyreg",
    "weakref", "tracemalloc", "atexit", "socket", "asyncio", "concurrent", "contextvars", "hypothesis", "cloudpickle",
    "joblib", "dill", "numexpr", "numba", "cffi", "pkgutil", "tokenize", "codeop", "shutil", "tempfile",
    # frames, code, tracebacks and generators, and what leads to them
    "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "f_trace", "tb_frame", "tb_next", "gi_frame", "gi_code",
    "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "cr_origin", "ag_frame", "ag_code", "ag_await", "cell_contents",
    "currentframe", "walk_tb", "walk_stack", "mro", "FunctionType", "CodeType", "FrameType", "TracebackType",
    "GeneratorType", "CellType", "MethodType", "ModuleType",
    # raw memory
    "as_strided", "frombuffer", "from_dlpack", "ctypeslib", "data_ptr", "untyped_storage", "storage", "set_",
    "from_blob", "memmap", "UntypedStorage", "DummyArray",
    # code, classes and objects from text or by name
    "get_type_hints", "ForwardRef", "make_dataclass", "Formatter", "format", "format_map", "load", "to_pickle",
    "read_pickle", "register", "ABCMeta", "EnumMeta", "EnumType", "NamedTupleMeta", "update_wrapper", "Library",
    # what decides comparisons and tests
    "TorchFunctionMode", "TorchDispatchMode", "MaskedArray", "masked", "masked_array", "TestCase", "SkipTest",
}  # fmt: skip
"""Attributes that are unusual on any object, and modules that are unusual but for the names below."""
_DANGEROUS_IN_MODULES = {
    "types", "code", "signal", "site", "mock", "ma", "overrides", "testing", "hub", "jit", "compile", "package", "fx",
    "export", "library", "ops", "classes", "cpp_extension", "serialization", "config", "test", "tests", "pdb", "save",
    "eval", "query", "script", "seterrcall", "seterrobj", "setbufsize", "options", "lib", "attrgetter", "methodcaller",
    "rcParams", "backend", "distributed", "sctypeDict", "typeDict",
}  # fmt: skip
"""Attributes that are unusual in modules."""
_HARMLESS = {
    "__init__", "__name__", "__call__", "__getitem__", "__len__", "__iter__", "__doc__", "__next__", "__contains__",
    "__neg__", "__add__", "__mul__", "__qualname__", "__version__", "__post_init__", "__new__", "__module__",
    "__slots__",
}  # fmt: skip
_CHAINS = {
    "re.compile", "numpy.lib.stride_tricks.sliding_window_view", "sys.maxsize", "sys.float_info", "sys.version_info",
    "sys.byteorder", "sys.platform", "os.path", "os.sep", "os.cpu_count", "os.PathLike", "os.fspath", "inspect.isclass",
    "inspect.isfunction", "inspect.signature", "inspect.Parameter", "torch.backends", "pandas.api.types",
    "torch.distributed.is_initialized", "torch.distributed.is_available", "builtins.range", "builtins.object",
    "builtins.str", "operator.attrgetter", "operator.methodcaller",
}  # fmt: skip
"""Harmless uses of what is unusual otherwise, with all that is below them."""
_CALLED = {"operator.attrgetter", "operator.methodcaller"}
"""Harmless when called with the names of attributes written out."""
_LOGGING = {"getLogger", "debug", "info", "warning", "error", "DEBUG", "INFO", "WARNING", "ERROR", "Logger"}
_SUBMODULES = {
    "nn", "functional", "linalg", "fft", "random", "sparse", "special", "stats", "optimize", "spatial", "cluster",
    "signal", "ndimage", "integrate", "optim", "distributions", "autograd", "core", "utils", "metrics", "strings",
    "preprocessing", "numpy", "torch", "scipy", "lax", "tree_util", "polynomial", "char", "rec", "backends",
}  # fmt: skip
"""Names of modules below libraries. A module that is passed on or kept could be changed through its new name."""
_PLAIN_BASES = {"object", "Exception", "ValueError", "NamedTuple", "Enum", "Module", "Function", "ABC", "Protocol"}
_PLAIN_METHODS = {
    "__init__", "__call__", "__post_init__", "__repr__", "__str__", "__len__", "__iter__", "__next__", "__getitem__",
    "__setitem__", "__enter__", "__exit__", "__missing__",
}  # fmt: skip
_SETTABLE = {
    "data", "grad", "requires_grad", "columns", "index", "name", "weight", "bias", "shape", "writeable", "values",
}  # fmt: skip
"""Attributes that honest code sets on arrays, tensors, tables and layers."""
_FIELD = re.compile(r"\{[^{}:]*[.\[]")
"""A field of a format string that reads an attribute or an item."""
_FREE = ("set_grad_enabled", "_foreach_")

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Scope = _Function | ast.Lambda | _Comprehension


def find_unusual(pieces: list[ast.Module], module: ast.Module, qualname: str) -> set[str]:
    """What the code uses beyond ordinary code, in words. `module`: the module it becomes a part of."""
    known = {name for name, _ in _imports(module)}
    aliases = dict(pair for tree in [module, *pieces] for pair in _aliases(tree))
    screen = _Screen(known, aliases, qualname)
    for piece in pieces:
        screen.visit(piece, frozenset(), "")
    return screen.found


class _Screen:
    def __init__(self, known: set[str], aliases: dict[str, str], qualname: str) -> None:
        self.known, self.aliases = known, aliases
        holder, _, self.target = qualname.rpartition(".")
        self.is_method = bool(holder)
        self.found: set[str] = set()
        self.skipped: set[int] = set()
        self.called: set[int] = set()
        self.methods: set[int] = set()

    def visit(self, node: ast.AST, local: frozenset[str], owner: str) -> None:
        """`local`: names that functions around the node bind; they hold values, not modules or builtins. `owner`: the
        first parameter of the target, if that is a method."""
        if id(node) not in self.skipped:
            self.found.update(self._inspect(node, local, owner))
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                self.methods.add(id(method))
        if isinstance(node, _Scope):
            bound = _bind(node)
            if owner in bound:
                owner = ""
            is_target = isinstance(node, _Function) and node.name == self.target and not local and self.is_method
            if isinstance(node, _Function) and (is_target or id(node) in self.methods) and node.args.args:
                first = node.args.args[0].arg
                owner = first if first not in _stored(node) else ""
            local |= bound
        for child in ast.iter_child_nodes(node):
            self.visit(child, local, owner)

    def _inspect(self, node: ast.AST, local: frozenset[str], owner: str) -> Iterator[str]:
        match node:
            case ast.ClassDef(name=name):
                if not _is_plain(node):
                    yield f"class {name}"
            case ast.Global(names=names):
                yield from (f"global {name}" for name in names)
            case ast.Import() | ast.ImportFrom():
                for name, is_star in _imports(node):
                    if is_star or (name not in self.known and not _is_harmless_import(name)):
                        yield f"import {name}"
            case ast.Compare(left=left, comparators=others):
                self._skip_types([left, *others])
            case ast.FormattedValue(value=value):
                self._skip_types([value])
            case ast.Attribute(value=value, attr="__name__" | "__qualname__", ctx=ast.Load()):
                self._skip_types([value])
                yield from self._check_chain(node, local)
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "str" | "repr"), args=arguments):
                self._skip_types(arguments)
            case ast.Call(func=function, args=arguments) if _is_type(function):
                # three arguments would make a class
                if len(arguments) < 3 and not any(isinstance(one, ast.Starred) for one in arguments):
                    self._skip_types([function])
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=str(name)), *_]):
                self.skipped.add(id(node.func))
                yield from _check_attribute(name)
            case ast.Call(
                func=ast.Attribute(attr="attrgetter" | "methodcaller") | ast.Name(id="attrgetter" | "methodcaller"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                self.skipped.add(id(node.func))
                yield from (atom for part in name.split(".") for atom in _check_attribute(part))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")) if not _FIELD.search(
                text
            ):
                self.skipped.add(id(node.func))
            case ast.Call(func=ast.Attribute(attr="eval" | "query" as name, value=value), args=[_, *_]):
                yield f"{_text(value)}.{name}(...)"
            case ast.Call(func=ast.Attribute() as function):
                self.called.add(id(function))
            case ast.keyword(arg="refcheck" | "allow_pickle" | "metaclass" as name):
                yield f"{name}="
            case ast.Name(id=name) if name not in local:
                yield from self._check_name(name)
            case ast.Attribute(ctx=ast.Load()):
                yield from self._check_chain(node, local)
            case ast.Attribute(value=value, attr=attr):
                is_own = isinstance(value, ast.Name) and value.id == owner
                if _is_module(value, self.aliases, local):
                    yield f"{_text(value)}.{attr} = ..."
                elif (not is_own and attr not in _SETTABLE) or _is_special(attr):
                    yield f".{attr} = ..."
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                root = _root(value)
                if root is not None and root.id not in local:
                    yield f"{_text(value)}[...] = ..."
            case ast.MatchClass(kwd_attrs=names):
                for name in names:
                    yield from _check_attribute(name)

    def _check_name(self, name: str) -> Iterator[str]:
        meaning = self.aliases.get(name, "")
        if meaning:
            root = meaning.partition(".")[0]
            is_harmless = _is_below(meaning, _CHAINS)
            if (root in _DANGEROUS and not is_harmless) or meaning in _CALLED:
                yield meaning
            elif meaning.rpartition(".")[2] in _SUBMODULES or "." not in meaning:
                yield f"{meaning} as a value"
        elif name in _BUILTINS or _is_special(name):
            yield name

    def _check_chain(self, node: ast.Attribute, local: frozenset[str]) -> Iterator[str]:
        """Check `a.b.c` as a whole."""
        parts, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            if id(inner) not in self.skipped:
                parts.insert(0, inner.attr)
            self.skipped.add(id(inner))
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id in local:
            for part in parts:
                yield from _check_attribute(part)
            return
        self.skipped.add(id(inner))
        is_module = inner.id in self.aliases
        root = self.aliases.get(inner.id, inner.id)
        chain = ".".join([root, *parts])
        if _is_below(chain, _CHAINS - _CALLED):
            return
        is_closed = root.partition(".")[0] in _DANGEROUS or (root == "logging" and parts[0] not in _LOGGING)
        if not is_module:
            yield from self._check_name(inner.id)
        if is_closed or any(_is_unusual_part(part, is_module) for part in parts):
            yield chain
        elif is_module and parts[-1] in _SUBMODULES and id(node) not in self.called:
            yield f"{chain} as a value"

    def _skip_types(self, nodes: list[ast.expr]) -> None:
        """Allow `type(x)` and `x.__class__` where they are only compared, called or named."""
        for node in nodes:
            if isinstance(node, ast.Tuple | ast.List):
                self._skip_types(node.elts)
            elif isinstance(node, ast.Call) and _is_type(node):
                self.skipped.add(id(node.func))
            elif isinstance(node, ast.Attribute) and _is_type(node):
                self.skipped.add(id(node))


def _is_plain(node: ast.ClassDef) -> bool:
    """A class that only groups values and methods: nothing in it decides what its objects are equal to. Its objects are
    looked for in what the candidate returns."""
    if node.keywords or not all(_text(base).rpartition(".")[2] in _PLAIN_BASES for base in node.bases):
        return False
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name.startswith("__") and name not in _PLAIN_METHODS:
                    return False
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name.startswith("__") and name != "__slots__":
                    return False
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                return False
    return True


def _is_unusual_part(part: str, is_module: bool) -> bool:
    if part in _DANGEROUS or _is_special(part):
        return True
    if not is_module or part.startswith(_FREE):
        return False
    is_private = part.startswith("_") and part not in _HARMLESS
    return part in _DANGEROUS_IN_MODULES or is_private or part.startswith(("set_", "register_module"))


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_], keywords=[]):
            return True
        case ast.Attribute(value=value, attr="__class__"):
            return not _is_type(value)
    return False


def _is_module(node: ast.expr, aliases: dict[str, str], local: frozenset[str]) -> bool:
    root = _root(node)
    return root is not None and root.id in aliases and root.id not in local


def _is_below(chain: str, places: set[str]) -> bool:
    return any(chain == one or chain.startswith(one + ".") for one in places)


def _check_attribute(name: str) -> Iterator[str]:
    if name in _DANGEROUS or _is_special(name):
        yield f".{name}"


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _HARMLESS


def _is_harmless_import(name: str) -> bool:
    if _is_below(name, _CHAINS):
        return True
    root, *parts = name.split(".")
    if root not in _STANDARD | _LIBRARIES or (root == "logging" and parts and parts[0] not in _LOGGING):
        return False
    return not any(_is_unusual_part(part, is_module=True) for part in parts)


def _imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Dotted names that are imported, each with whether all names below it are."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, False) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                start = "." * level + (module or "")
                for alias in names:
                    yield (start, True) if alias.name == "*" else (f"{start}.{alias.name}", False)


def _aliases(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that imports bind, with what they stand for."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    yield bound, alias.name if alias.asname else bound
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    yield alias.asname or alias.name, f"{'.' * level}{module or ''}.{alias.name}"


def _bind(scope: _Scope) -> set[str]:
    """Names that a function or comprehension binds, other than by imports and for its module."""
    free: set[str] = set()
    imported: set[str] = set()
    for node in _own_nodes(scope):
        if isinstance(node, ast.Global | ast.Nonlocal):
            free.update(node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported.update(name for name, _ in _aliases(node))
    arguments: set[str] = set()
    if not isinstance(scope, _Comprehension):
        every = scope.args
        listed = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
        arguments = {argument.arg for argument in listed if argument is not None}
    return (arguments | _stored(scope)) - free - imported


def _stored(scope: _Scope) -> set[str]:
    found: set[str] = set()
    for node in _own_nodes(scope):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
    return found


def _own_nodes(scope: _Scope) -> Iterator[ast.AST]:
    """The nodes of a scope without those of scopes inside it."""
    pending: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _Scope | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _text(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "...", *parts])
