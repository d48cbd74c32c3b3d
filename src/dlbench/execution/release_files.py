"""Make the files of a release task from the trees of two releases: what is there, the reference, and the tests.

The older release keeps its own tests. Tests of the newer one are laid beside them under another name, cut to those that
judge and to the imports that these need: one new name in a test file would otherwise fail every test of the file.
"""

import ast
import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath

from dlbench.dataset.merge import HEAD, Import, Unit, Units, compose, divide, find_target
from dlbench.dataset.records import strip_case
from dlbench.execution.file_sets import looks_like_test
from dlbench.parsing import unparse

_MARK = "_next"
_MOST_BYTES = 2 << 20
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_SKIPPED = re.compile(r"\..*|.*\.(egg-info|dist-info|pyc)|__pycache__|build|dist|node_modules")
_AGENT_FILES = re.compile(
    r"(claude|agents?|gemini|copilot-instructions|skill)\.md|\.(cursor|claude|windsurf|aider|codex|gemini)(rules|ignore)?.*"
    r"|\.?(cursorrules|windsurfrules|clinerules)|llms(-full)?\.txt",
    re.IGNORECASE,
)
"""They tell an agent how to work, and releases differ in them."""
_FIXED = re.compile(r"(setup|teardown)(_.*)?|pytest(mark|_.*)|__.*__|(setUp|tearDown).*")
"""Names that pytest or Python looks for."""


def list_files(tree: Path) -> Iterator[str]:
    for here, folders, names in os.walk(tree):
        folders[:] = sorted(one for one in folders if not _SKIPPED.fullmatch(one))
        inner = Path(here).relative_to(tree)
        yield from ((inner / name).as_posix() for name in sorted(names) if not _SKIPPED.fullmatch(name))


def list_changed(before: Path, after: Path) -> list[str]:
    """Files of the newer release that the older one does not have or has otherwise, and those that are gone."""
    old, new = set(list_files(before)), set(list_files(after))
    both = {path for path in old & new if (before / path).read_bytes() != (after / path).read_bytes()}
    return sorted(both | (old ^ new))


def is_agent_file(path: str) -> bool:
    return any(map(_AGENT_FILES.fullmatch, PurePosixPath(path).parts))


def remove_agent_files(tree: Path) -> dict[str, bytes | None]:
    found = (Path(here, name).relative_to(tree).as_posix() for here, _, names in os.walk(tree) for name in names)
    return {path: None for path in found if is_agent_file(path)}


def make_reference(before: Path, after: Path, taken: Collection[str], import_root: str) -> dict[str, bytes | None]:
    """`taken`: files of the newer release, and units (`path::qualname`). Modules of the same packages that import or
    export what is taken follow."""
    units: dict[str, set[str]] = {}
    for one in taken:
        path, separator, key = one.partition("::")
        units.setdefault(path, set()).update({key} if separator else ())
    whole = {path for path in taken if "::" not in path}
    files = {path for path in list_files(after) if path.endswith(".py")}
    tops = {_find_top(path, import_root) for path in units}
    changed = [path for path in list_changed(before, after) if path in files and _find_top(path, import_root) in tops]
    modules = {
        path: (read_units(before / path), read_units(after / path)) for path in changed if not looks_like_test(path)
    }
    exported = {(path, key) for path, keys in units.items() for key in keys if key not in modules[path][0].by_key}
    exported |= {
        (path, name) for path in whole & modules.keys() for name in modules[path][1].bound - modules[path][0].bound
    }
    made = {path for path in units if not (before / path).is_file()}
    imports = {path: _find_needed(*modules[path], keys) for path, keys in units.items() if path not in whole}
    is_done = False
    while not is_done:
        is_done = True
        for path, (old, new) in modules.items():
            for name in new.imports.keys() - old.bound - imports.get(path, set()) if path not in whole else ():
                target, inner = find_target(path, new.imports[name], files, import_root)
                if (target, inner) in exported or (target in made and inner in ("", "*")):
                    imports.setdefault(path, set()).add(name)
                    exported.add((path, name))
                    is_done = False
    found: dict[str, bytes | None] = {path: read_bytes(after / path) for path in whole}
    for path, names in imports.items():
        found[path] = compose(*modules[path], units.get(path, ()), names).encode()
    return found


def _find_top(path: str, import_root: str) -> str:
    inner = PurePosixPath(path)
    return inner.relative_to(import_root).parts[0] if inner.is_relative_to(import_root) else ""


def _find_needed(before: Units, after: Units, keys: Collection[str]) -> set[str]:
    """Imports that the taken units read and the older module does not have."""
    inside = [
        unit for key, unit in after.by_key.items() if key in keys or any(key.startswith(f"{one}.") for one in keys)
    ]
    used = set[str]().union(*(unit.used for unit in inside))
    new = (name for name in after.imports if name not in before.bound)
    return {name for name in new if name.partition(".")[0] in used}


def read_units(path: Path) -> Units:
    """No units of a file that is not there, cannot be parsed, or is too large to be written by hand."""
    try:
        return divide(path.read_text(encoding="utf-8-sig") if path.stat().st_size <= _MOST_BYTES else "")
    except (OSError, SyntaxError, ValueError, RecursionError):
        return divide("")


def read_bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def is_test_file(path: str) -> bool:
    return bool(_TEST_FILE.fullmatch(PurePosixPath(path).name))


def rename_tests(test: str) -> str:
    """The id of a newer release's test, or its file, under the name that it has beside the older release's tests."""
    path, separator, rest = test.partition("::")
    place = PurePosixPath(path)
    stem = f"{place.stem.removesuffix('_test')}{_MARK}_test" if place.stem.endswith("_test") else f"{place.stem}{_MARK}"
    return f"{place.with_name(f'{stem}.py').as_posix()}{separator}{rest}"


def find_original(test: str) -> str:
    """The id that `rename_tests` was given."""
    path, separator, rest = test.partition("::")
    original = re.sub(rf"{_MARK}(_test)?[.]py$", r"\1.py", path)
    return f"{original}{separator}{rest}"


def make_tests(before: Path, after: Path, tests: Collection[str], packages: Collection[str]) -> dict[str, bytes | None]:
    """The newer release's files that these tests need. `tests`: renamed ids. `packages`: top-level names of the
    project's modules."""
    found: dict[str, bytes | None] = {}
    for path in list_changed(before, after):
        if looks_like_test(path) and not is_test_file(path) and (after / path).is_file():
            found[path] = (after / path).read_bytes()
    shown: dict[str, set[str]] = {}
    for test in tests:
        path, _, name = strip_case(test).partition("::")
        shown.setdefault(path, set()).add(name)
    originals = {rename_tests(path): path for path in list_files(after) if is_test_file(path)}
    for path, names in shown.items():
        found[path] = cut_tests(read_units(after / originals[path]), names, packages).encode()
    return found


def cut_tests(module: Units, names: Collection[str], packages: Collection[str]) -> str:
    """A test module with these tests (`Class::test_name`), the helpers that they reach, and the imports that those
    need."""
    units = module.by_key
    bare = {name.rpartition("::")[2] for name in names}
    dropped = {key for key, unit in units.items() if _is_test(unit) and not _is_chosen(unit, names, bare)}
    kept: set[str] = set()
    pending = [HEAD, *(key for key, unit in units.items() if _is_fixed(unit) and not unit.owner)]
    pending += [name.replace("::", ".") for name in names]
    while pending:
        key = pending.pop()
        if key in kept or key in dropped:
            continue
        pending += [key.rpartition(".")[0], *(one for one in units if key and one.rpartition(".")[0] == key)]
        if key in units:
            kept.add(key)
            pending += _list_mentioned(units[key])
    used = set[str]().union(*(set(_list_mentioned(units[key])) for key in kept))
    lines: list[str] = []
    for key in (key for key in units if key in kept):
        lines += _prune_imports(module, key, used, packages)
        if key and (members := {one for one in units if one.rpartition(".")[0] == key}) and members <= dropped:
            lines.append("    " * (key.count(".") + 1) + "pass")
    return "\n".join(lines) + "\n"


def _is_test(unit: Unit) -> bool:
    return unit.is_function and unit.name.startswith("test") and not _has_decorator(unit, "fixture")


def _is_chosen(unit: Unit, names: Collection[str], bare: Collection[str]) -> bool:
    return (unit.owner != "" and unit.name in bare) or unit.key.partition("#")[0].replace(".", "::") in names


def _is_fixed(unit: Unit) -> bool:
    return bool(_FIXED.fullmatch(unit.name)) or _has_decorator(unit, "autouse")


def _has_decorator(unit: Unit, word: str) -> bool:
    return any(word in unparse(one) for node in unit.nodes for one in getattr(node, "decorator_list", ()))


def _list_mentioned(unit: Unit) -> Iterator[str]:
    """Names that the code reads, also those of fixtures."""
    for node in (inner for one in unit.nodes if not isinstance(one, Import) for inner in ast.walk(one)):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.Constant(value=str(name)) if name.isidentifier():
                yield name


def _prune_imports(module: Units, key: str, used: Collection[str], packages: Collection[str]) -> Iterable[str]:
    """The unit's lines without imports of the project's names that nothing reads."""
    first = module.by_key[key].first
    lines: list[str | None] = list(module.text(key))
    for node in module.by_key[key].nodes:
        if not isinstance(node, Import) or not _is_own(node, packages):
            continue
        kept = [one for one in node.names if one.name == "*" or (one.asname or one.name).partition(".")[0] in used]
        if len(kept) < len(node.names):
            end = node.end_lineno or node.lineno
            lines[node.lineno - first : end - first + 1] = [None] * (end - node.lineno + 1)
            if kept:
                node = (
                    ast.Import(kept) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, kept, node.level)
                )
                lines[end - first] = unparse(node)
    return [line for line in lines if line is not None]


def _is_own(node: Import, packages: Collection[str]) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] in packages
    return all(alias.name.partition(".")[0] in packages for alias in node.names)
