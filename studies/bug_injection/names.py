"""Inject bugs in names: undefined objects, missing attributes, unassigned variables."""

import ast
import copy
from collections.abc import Iterator

from bug_injection.subject import Subject, parse_expression, prepend, replace_node
from dlbench.analysis.bugs.evidence import ARRAYS
from dlbench.dataset.target import Function, dotted_name

Found = Iterator[tuple[str, str, Function | str]]

_HELPERS = (
    "prepare_inputs",
    "safe_convert",
    "_normalize_values",
    "validate_and_cast",
    "compute_statistics",
    "to_batched",
)
_CLASSES = ("TensorProcessor", "BatchNormalizer", "ShapeAligner", "FeatureScaler")
_MODULES = ("tensor_helpers", "dl_utils", "array_tools", "fast_metrics")
_LAYERS = ("Dense", "SafeArray", "TensorMap", "StableNorm")
_MISSPELT = {
    "concatenate": "concat_arrays", "astype": "to_type", "reshape": "resize_to", "shape": "dims", "sum": "total",
    "mean": "average_of", "append": "push", "stack": "stack_all", "transpose": "swap_dims", "items": "iteritems",
    "zeros": "zeros_array", "ones": "ones_array", "asarray": "as_array", "array": "ndarray_of", "dtype": "data_type",
    "copy": "clone_array", "size": "numel_of", "ndim": "rank_of", "view": "reshape_as_view", "startswith": "beginswith",
    "join": "concat", "split": "tokenize", "get": "get_or_default", "update": "merge_with", "max": "maximum_of",
}  # fmt: skip


def hallucinate(subject: Subject) -> Found:
    rng = subject.rng
    for place in subject.shuffled(ast.Assign, ast.Return)[:2]:
        made, node = subject.copy_at(place)
        if isinstance(node, ast.Assign | ast.Return) and node.value is not None:
            name = rng.choice(_HELPERS)
            node.value = parse_expression(f"{name}(value)", value=node.value)
            yield "other", "an undefined helper", made
    for place in subject.shuffled(ast.Assign, ast.Return)[:1]:
        made, node = subject.copy_at(place)
        if isinstance(node, ast.Assign | ast.Return) and node.value is not None:
            node.value = parse_expression(f"{rng.choice(_CLASSES)}()(value)", value=node.value)
            yield "missing", "an undefined class", made
    module, name = rng.choice(_MODULES), rng.choice(_HELPERS)
    yield "missing", "a missing module", prepend(subject.function, f"from {module} import {name}")
    for place in subject.shuffled(ast.Call):
        made, node = subject.copy_at(place)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_array(node.func.value):
            node.func.attr = rng.choice(_LAYERS)
            yield "misused", "a missing framework class", made
            break


def mistake_attribute(subject: Subject) -> Found:
    for place in subject.shuffled(ast.Attribute):
        made, node = subject.copy_at(place)
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load) or _is_self(node.value):
            continue
        known = node.attr in _MISSPELT
        if known or _is_array(node.value):
            node.attr = _MISSPELT.get(node.attr, f"{node.attr}_op")
            yield "api" if subject.is_numeric else "other", "a missing attribute", made
    yield from _import_wrongly(subject)


def _import_wrongly(subject: Subject) -> Found:
    used = {node.id for node in subject.walk if isinstance(node, ast.Name)}
    for statement in subject.module.body:
        if isinstance(statement, ast.ImportFrom) and not statement.level and statement.module != "__future__":
            for alias in statement.names:
                if (alias.asname or alias.name) in used:
                    line = f"from {statement.module} import {alias.name}_v2 as {alias.asname or alias.name}"
                    yield "import", "a missing name in an import", prepend(subject.function, line)
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.asname in used:
                    line = f"from {alias.name} import array_backend as {alias.asname}"
                    yield "import", "a missing name in an import", prepend(subject.function, line)


def leave_undefined(subject: Subject) -> Found:
    called = {id(node.func) for node in subject.walk if isinstance(node, ast.Call)}
    loads = [
        place
        for place in subject.shuffled(ast.Name)
        if _is_load(subject, place) and id(subject.walk[place]) not in called
    ]
    for place in loads[:2]:
        made, node = subject.copy_at(place)
        assert isinstance(node, ast.Name)
        node.id = subject.rng.choice([f"{node.id}_new", f"{node.id}s", f"new_{node.id}", f"{node.id}_"])
        yield "other", "a misspelt variable", made
    for place in subject.shuffled(ast.Assign):
        made, node = subject.copy_at(place)
        if isinstance(node, ast.Assign) and _binds_alone(made, node):
            yield "other", "an unassigned variable", replace_node(made, node, ast.Pass())
            break
    for place in subject.shuffled(ast.Attribute):
        made, node = subject.copy_at(place)
        if isinstance(node, ast.Attribute) and _is_self(node.value) and isinstance(node.ctx, ast.Load):
            node.attr = f"{node.attr.strip('_')}_value"
            yield "other", "a missing attribute of self", made
            break


def _is_load(subject: Subject, place: int) -> bool:
    node = subject.walk[place]
    assert isinstance(node, ast.Name)
    return isinstance(node.ctx, ast.Load) and node.id in {*subject.stored, *subject.parameters}


def _binds_alone(function: Function, node: ast.Assign) -> bool:
    match node.targets:
        case [ast.Name(id=name)]:
            names = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
            return sum(isinstance(one.ctx, ast.Store) for one in names) == 1 and len(names) > 1
    return False


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_array(node: ast.expr) -> bool:
    return dotted_name(node).partition(".")[0] in ARRAYS


def rename_locals(function: Function) -> Function:
    """The same function with other local names."""
    made = copy.deepcopy(function)
    parameters = {one.arg for one in ast.walk(made) if isinstance(one, ast.arg)}
    fixed = {name for one in ast.walk(made) if isinstance(one, ast.Global | ast.Nonlocal) for name in one.names}
    names = [one.id for one in ast.walk(made) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    chosen = {name: f"{name[:3].strip('_')}_{place}" for place, name in enumerate(dict.fromkeys(names))}
    for node in ast.walk(made):
        if isinstance(node, ast.Name) and node.id in chosen and node.id not in parameters | fixed:
            node.id = chosen[node.id]
    return made
