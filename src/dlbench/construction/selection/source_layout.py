"""Detect the packages, modules and tests of a source tree, and the framework it is built on.

The layout is a guess by conventions; a wrong guess shows as a failed import in a later step. Files are parsed and never
run. The framework follows from dependencies and imports: one module with a keras callback does not make a deep-learning
project, and numpy alone makes an array package.
"""

import ast
import os
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from dlbench.construction.screening.parsed_module import find_imports
from dlbench.construction.selection import ARRAY, OTHER, read_topics
from dlbench.dataset.target import Function
from dlbench.parsing import parse as make_tree

# Folders that pytest does not enter, and names that are not part of the package.
_SKIPPED = re.compile(r"\..*|.*\.egg|.*\.egg-info|_darcs|build|CVS|dist|node_modules|venv|__pycache__")
_BESIDE = frozenset({
    "tests", "test", "testing", "docs", "doc", "examples", "example", "benchmarks", "benchmark", "scripts",
    "script", "tools", "notebooks", "tutorials", "ci", "setup", "conftest", "noxfile", "tasks", "versioneer",
    "dist", "build", "src", "requirements", "assets", "images", "data",
})  # fmt: skip
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_TEST_FOLDERS = frozenset({"test", "tests"})


@dataclass(frozen=True)
class Layout:
    """Paths relative to the tree. `tests`: files that pytest collects by name."""

    import_root: str
    packages: tuple[str, ...]
    modules: tuple[str, ...]
    tests: tuple[str, ...]


def find_layout(tree: Path, name: str) -> Layout:
    files = list(_python_files(tree))
    inside = _find_packages(tree / "src", tree, name) if not (tree / "src" / "__init__.py").exists() else []
    beside = _find_packages(tree, tree, name)
    is_beside = bool(beside) and _normal(beside[0]) == _normal(name)
    import_root, packages = ("src", inside) if inside and not is_beside else (".", beside)
    prefix = "" if import_root == "." else f"{import_root}/"
    homes = tuple(f"{prefix}{package}/" for package in packages)
    alone = {f"{prefix}{package}.py" for package in packages}
    return Layout(
        import_root=import_root,
        packages=tuple(packages),
        modules=tuple(f for f in files if (f.startswith(homes) or f in alone) and not _is_for_tests(f, len(prefix))),
        tests=tuple(file for file in files if _TEST_FILE.fullmatch(PurePosixPath(file).name)),
    )


def find_tests_root(counts: dict[str, int]) -> str:
    """The folder that contains most of the tests; `counts` has the number of tests of each file."""
    tops: Counter[str] = Counter()
    for file, count in counts.items():
        tops[PurePosixPath(file).parts[0] if "/" in file else "."] += count
    top = tops.most_common(1)[0][0] if tops else ""
    inside = [PurePosixPath(file).parent for file in counts if file.startswith(f"{top}/")]
    return os.path.commonpath(inside) if inside else top


def _python_files(tree: Path) -> Iterator[str]:
    for here, folders, files in os.walk(tree):
        folders[:] = sorted(folder for folder in folders if not _SKIPPED.fullmatch(folder))
        paths = [Path(here, file) for file in sorted(files) if file.endswith(".py")]
        # A link would count code twice.
        yield from (path.relative_to(tree).as_posix() for path in paths if not path.is_symlink())


def _find_packages(folder: Path, tree: Path, name: str) -> list[str]:
    """Packages of a folder; the one named like the project first."""
    if not folder.is_dir():
        return []
    listed = _listed(tree)
    found = []
    for path in sorted(folder.iterdir()):
        module = path.stem if path.suffix == ".py" and path.is_file() else path.name
        if not module.isidentifier() or path.is_symlink() or _TEST_FILE.fullmatch(path.name):
            continue
        if module in _BESIDE and _normal(module) != _normal(name):
            continue
        is_namespace = module in listed or _normal(name).startswith(_normal(module))
        is_package = (path / "__init__.py").exists() or (is_namespace and any(path.rglob("*.py")))
        if (is_package or path.suffix == ".py") and (not listed or module in listed):
            found.append(module)
    return sorted(found, key=lambda module: (_normal(module) != _normal(name), module))


def _listed(tree: Path) -> frozenset[str]:
    """Top-level names recorded by the build, if any."""
    paths = [*tree.glob("*.egg-info/top_level.txt"), *tree.glob("src/*.egg-info/top_level.txt")]
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in paths)
    return frozenset(name for text in texts for name in text.split()) - _BESIDE


def _is_for_tests(file: str, offset: int) -> bool:
    path = PurePosixPath(file[offset:])
    in_tests = not _TEST_FOLDERS.isdisjoint(path.parts[1:-1])
    return in_tests or path.name == "conftest.py" or bool(_TEST_FILE.fullmatch(path.name))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "", name).lower()


MOST_BYTES = 2 << 20


@dataclass(frozen=True)
class Module:
    """`functions` and the methods of `classes` by name; `documented`: number of public ones with a docstring."""

    imports: frozenset[str]
    functions: frozenset[str]
    classes: dict[str, frozenset[str]]
    public: int
    documented: int


def parse(path: Path) -> ast.Module | None:
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Invalid escapes in the file do not concern the user.
            return make_tree(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        return None


def read_module(path: Path) -> Module | None:
    tree = parse(path)
    if tree is None:
        return None
    functions = _functions(tree)
    methods = {node.name: _functions(node) for node in members(tree) if isinstance(node, ast.ClassDef)}
    inner = [found for name, found in methods.items() if not name.startswith("_")]
    public = [node for found in [functions, *inner] for name, node in found.items() if not name.startswith("_")]
    return Module(
        imports=frozenset(binding.dotted.partition(".")[0] for binding in find_imports(tree)),
        functions=frozenset(functions),
        classes={name: frozenset(found) for name, found in methods.items()},
        public=len(public),
        documented=sum(ast.get_docstring(function, clean=False) is not None for function in public),
    )


def _functions(owner: ast.Module | ast.ClassDef) -> dict[str, Function]:
    return {node.name: node for node in members(owner) if isinstance(node, Function)}


def members(owner: ast.AST) -> Iterator[ast.stmt]:
    """Statements of a module or class, including those under `if`, `try` and `with`."""
    for node in ast.iter_child_nodes(owner):
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.If | ast.Try | ast.ExceptHandler | ast.With):
            yield from members(node)


FRAMEWORKS = ("torch", "jax", "tensorflow", "keras")
LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Libraries:
    """`kind`: dl, array, or empty. `figures`: a description of what was found."""

    kind: str
    framework: str
    figures: str


def find_libraries(
    requires: Collection[str], packages: Collection[str], imports: Collection[frozenset[str]]
) -> Libraries:
    """`imports`: for each module of the project, what it imports."""
    families = read_topics().families
    own = {families[package] for package in packages if package in families}
    depends = sorted({name for name in _dependencies(requires) if name in families})
    needed = {families[name] for name in depends}
    used = Counter(
        family for names in imports for family in {families[name] for name in names - set(packages) if name in families}
    )
    counts = ", ".join(f"{count} import {family}" for family, count in used.most_common())
    figures = f"depends on {', '.join(depends) or 'no known library'}"
    figures += f"; of {len(imports)} modules {counts or 'none imports one'}"
    often = {family for family, count in used.items() if count >= max(1.0, LEAST_SHARE * len(imports))}
    deep = [family for family in (*FRAMEWORKS, OTHER) if family in own | needed | often]
    if not deep:
        array = ARRAY in own | needed | often
        return Libraries("array" if array else "", "numpy" if array else "", figures)
    best = max(deep, key=lambda family: (family in own, used[family]))
    if not (own | needed) & set(deep) and used[ARRAY] > used[best]:
        best = "numpy"
    return Libraries("dl", best, figures)


def read_project(tree: Path, name: str, requires: Collection[str]) -> tuple[Layout, list[Module], Libraries]:
    """Read all of a source tree, given the project's name and its requirements on the index."""
    layout = find_layout(tree, name)
    modules = [module for file in layout.modules if (module := read_module(tree / file))]
    return layout, modules, find_libraries(requires, layout.packages, [module.imports for module in modules])


def _dependencies(requires: Collection[str]) -> Iterator[str]:
    """Import names of required packages, without extras."""
    topics = read_topics()
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if not re.search(r"\bextra\b", str(requirement.marker)):
            name = canonicalize_name(requirement.name)
            yield topics.distributions.get(name, name.replace("-", "_"))
