"""List the names, attributes, keywords and texts that honest code does not need, whatever they are used on."""

import re
from functools import cache
from pathlib import Path

BUILTINS = frozenset({
    "eval", "exec", "compile", "globals", "locals", "vars", "setattr", "delattr", "open", "breakpoint", "memoryview",
    "input", "help", "exit", "quit", "dir", "type", "getattr", "hasattr", "__import__", "id", "property", "hash",
    "license", "credits", "copyright",
})  # fmt: skip
_DANGEROUS = {
    "sys", "os", "gc", "inspect", "builtins", "importlib", "ctypes", "subprocess", "threading", "marshal", "pickle",
    "linecache", "traceback", "faulthandler", "unittest", "pytest", "pluggy", "multiprocessing", "copyreg", "weakref",
    "atexit", "socket", "asyncio", "concurrent", "contextvars", "hypothesis", "types", "testing", "overrides", "mock",
    "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "f_trace", "tb_frame", "tb_next", "gi_frame", "gi_code",
    "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "cr_origin", "ag_frame", "ag_code", "ag_await", "cell_contents",
    "currentframe", "walk_tb", "walk_stack", "mro", "handlers",
    "as_strided", "frombuffer", "from_dlpack", "ctypeslib", "data_ptr", "untyped_storage", "storage", "set_", "memmap",
    "get_type_hints", "make_dataclass", "format", "format_map", "load", "to_pickle", "read_pickle", "register",
    "update_wrapper", "masked", "masked_array", "MaskedArray", "exec", "setattr", "modules", "bltns", "buffer_info",
    "findCaller", "makeRecord", "manager", "optional_import", "instantiate", "import_module", "import_string", "locate",
    "pack_into", "Struct", "get_origin",
}  # fmt: skip
"""Attributes that lead to the judge, to memory, or to code and classes from text: unusual on any object."""
KEYWORDS = frozenset({
    "refcheck", "allow_pickle", "metaclass", "eval_str", "usemask", "assigned", "updated", "resolvers", "local_dict",
    "global_dict", "expr", "override_repr", "strides", "extra", "stack_info", "check_invariants",
})  # fmt: skip
_HARMLESS = {
    "__name__", "__call__", "__getitem__", "__len__", "__iter__", "__doc__", "__next__", "__contains__", "__neg__",
    "__add__", "__mul__", "__qualname__", "__version__", "__module__",
}  # fmt: skip
EVALUATING = frozenset({"eval", "query"})
"""Methods of tables that evaluate text."""
BY_NAME = frozenset({"agg", "aggregate", "apply", "transform"})
"""Methods of tables that call another method by its name."""
SPARSE = frozenset({"indices", "indptr", "row", "col", "offsets"})
"""Attributes of sparse matrices that compiled code trusts."""
CAREFUL = frozenset({
    "base", "dump", "dumps", "tofile", "getfield", "setfield", "setflags", "resize", "resize_", "set_state", "func",
    "get_state", "bit_generator", "cffi", "capsule", "next_functions", "variable", "addHandler", "addFilter", "plot",
    "removeFilter", "filters", "obj", "pyfunc", "read", "readline", "readlines", "read_text", "read_bytes", "write",
    "write_text", "write_bytes", "open", "unlink", "share_memory_", "flatiter", "itviews", "operands", "fget", "fset",
    "fdel", "lib", "core", "testing", "interface",
})  # fmt: skip
"""Attributes that are unusual although a project defines one of that name, unless the module uses it."""
MUTATING = frozenset({
    "append", "extend", "insert", "remove", "pop", "popitem", "clear", "update", "setdefault", "sort", "reverse", "add",
    "discard", "appendleft", "popleft", "extendleft", "rotate", "fill", "put", "itemset", "intersection_update",
    "difference_update", "symmetric_difference_update", "move_to_end", "subtract", "partition", "shuffle",
})  # fmt: skip
"""Methods that change their object. Those of torch end in an underscore."""
_WORDS = {"builtins", "sys", "gc", "inspect", "importlib", "ctypes", "exec", "setattr"}
_DUNDER = re.compile(r"__\w+__")


@cache
def _load_attributes() -> frozenset[str]:
    text = Path(__file__).with_name("attribute_names.txt").read_text(encoding="utf-8")
    listed = {name for line in text.splitlines() if not line.startswith("#") for name in line.split()}
    own = (str, bytes, list, tuple, dict, set, frozenset, int, float, complex, range, slice)
    return frozenset(listed.union(*(dir(kind) for kind in own)))


def is_listed_attribute(name: str) -> bool:
    """Whether honest code may read it from any object."""
    return (name in _load_attributes() or name in _HARMLESS) and not is_dangerous(name)


def is_dangerous(name: str) -> bool:
    return name in _DANGEROUS or is_special(name)


def is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _HARMLESS


def is_mutating(name: str) -> bool:
    return name in MUTATING or (name.endswith("_") and not name.startswith("_"))


def is_suspicious(text: str) -> bool:
    """Whether a text may name a special attribute, a keyword or a module that is unusual."""
    has_special = any(is_special(name) and name != "__main__" for name in _DUNDER.findall(text))
    return has_special or text in KEYWORDS | EVALUATING | _WORDS or "array_interface" in text


def is_licensed(word: str) -> bool:
    """Whether a candidate may do what the reference does: it uses a name of a library, or keeps an attribute.

    What makes code or classes, reads computed names or reaches memory does other things in other hands."""
    names = set(re.findall(r"\w+", word))
    kind = word.partition(" ")[0]
    is_safe = not names & (BUILTINS | KEYWORDS | EVALUATING) and not any(map(is_dangerous, names))
    return is_safe and kind not in {"class", "code", "member"}
