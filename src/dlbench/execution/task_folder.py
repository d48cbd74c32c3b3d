"""Write the folder in which a task of many files is solved, and read an answer from it.

The folder holds the release with what is given and the visible tests. It must not show what is asked for: no hidden
test, no compiled file, no copy of a reduced module, no path of the workspace; nor the project's own words for agents.
"""

import ast
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from dlbench.dataset.file_task import Component, Rebuild
from dlbench.dataset.skeleton import Module
from dlbench.dataset.target import find_body
from dlbench.errors import DLBenchError
from dlbench.execution.file_screen import list_uses
from dlbench.execution.file_sets import find_packages
from dlbench.execution.file_task import OpenTask
from dlbench.execution.release_files import is_agent_file
from dlbench.execution.scopes import Function
from dlbench.execution.task_tests import cut_tests, name_functions
from dlbench.parsing import parse, unparse

INSTRUCTIONS, TESTS, REQUIREMENTS = "INSTRUCTIONS.md", "VISIBLE_TESTS.txt", "REQUIREMENTS.txt"
_OURS = frozenset({INSTRUCTIONS, TESTS, REQUIREMENTS})
_SKIPPED = (".pyc", ".pyo", ".egg", ".whl", ".zip", ".gz", ".orig", ".rej", ".patch", ".diff")
_LEFT_OUT = frozenset({"node_modules", "build", "dist"})
_METADATA = ("METADATA", "PKG-INFO", "entry_points.txt")
_MOST_ENTRIES = 100_000
_LEAST_BYTES = 200
"""Below it, files are equal by accident, such as those that only mark a package."""

_REBUILD = """Every function body of these {count} modules was removed, and private functions that nothing else uses
as a whole; signatures, docstrings, constants and imports are as in the release. Write the bodies, and any private
helper or module that you need, so that the package works as documented.

{modules}
"""
_DESCRIBED = """{description}

## Where

{modules}
"""
_RULES = """
- Only files below {packages} count, and no tests, `conftest.py`, configuration, compiled files or links.
- Hidden tests decide. The score is the share of them that pass, and whether all do.{kind}
- Solve it with Python {python} and the packages of `{requirements}`.
  From this folder, {tests} by:
  `{settings}PYTHONPATH={root} {interpreter} -m pytest -p no:cacheprovider -o addopts= {arguments}`
- If code could reach the tests or the judge, nothing of the answer counts, unless the release uses the same: frames,
  `sys.modules`, import hooks, replaced functions of libraries, comparison methods such as `__eq__` in classes that have
  none in the release, library modules that are returned or passed on, processes, sockets, `open`, `eval`, `pickle`,
  ….{uses}
{names}"""


def build_folder(task: OpenTask) -> dict[str, bytes]:
    """The files of the folder, by path."""
    tree, record = task.prepared.tree, task.record
    hidden_files = {test.partition("::")[0] for test in record.hidden}
    visible: dict[str, list[str]] = {}
    for test in (*record.visible, *record.unchanged):
        visible.setdefault(test.partition("::")[0], []).append(test)
    found: dict[str, bytes] = {}
    for path in sorted(path for path in _list_files(tree) if not is_agent_file(path)):
        source = _resolve(tree, path)
        if source in task.base:
            found[path] = task.base[source]
        elif source in hidden_files:
            judging = [test for test in record.hidden if test.startswith(f"{source}::")]
            found[path] = cut_tests((tree / source).read_bytes(), visible.get(source, ()), judging)
        elif source:
            found[path] = (tree / source).read_bytes()
    needed = {*record.files, *hidden_files, *visible}
    for path in [path for path in found if path.endswith(".py") and path not in needed]:
        originals = [tree / one for one in hidden_files if PurePosixPath(one).stem in path]
        shown = set(_list_bodies(found[path])) if originals else set()
        if any(one.is_file() and _is_copy(set(_list_bodies(one.read_bytes())), shown) for one in originals):
            del found[path]  # such as an editor leaves
    references = {content for content in task.reference.values() if content and len(content) > _LEAST_BYTES}
    found = {path: content for path, content in found.items() if path in record.files or content not in references}
    texts = {path: content for path, content in found.items() if path.endswith(".py")}
    for path in hidden_files - visible.keys():
        stem = PurePosixPath(path).stem.encode()
        if not any(stem in content for other, content in texts.items() if other != path):
            found.pop(path, None)
    return found | task.visible_tests


def _resolve(tree: Path, path: str) -> str:
    """The file that a link leads to, inside the tree; else the path itself."""
    place = (tree / path).resolve()
    return place.relative_to(tree.resolve()).as_posix() if place.is_relative_to(tree.resolve()) else ""


def _list_files(tree: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(tree):
        inner = Path(folder).relative_to(tree)
        # a package may be called `build`
        left_out = {one for one in folders if one in _LEFT_OUT and not Path(folder, one, "__init__.py").is_file()}
        folders[:] = [one for one in folders if one not in left_out | {"__pycache__"} and not one.startswith(".")]
        is_metadata = inner.name.endswith((".dist-info", ".egg-info"))
        for name in names:
            if Path(folder, name).is_file() and not name.endswith(_SKIPPED) and (not is_metadata or name in _METADATA):
                yield (inner / name).as_posix()


def list_shown(task: OpenTask) -> list[str]:
    """The visible and unchanged tests that the folder has: none whose function a hidden test runs too."""
    record = task.record
    functions = name_functions(
        record.tests, lambda path: task.tests.get(path) or (task.prepared.tree / path).read_bytes()
    )
    judging = {functions[test] for test in record.hidden}
    return [test for test in (*record.visible, *record.unchanged) if functions[test] not in judging]


def write_folder(task: OpenTask, folder: Path, interpreter: str = "python") -> None:
    """`folder` must be new or empty. `interpreter`: what the instructions call the one with the packages."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DLBenchError("the folder is not empty", where=str(folder), fix="name a new folder")
    files = build_folder(task)
    files |= {
        INSTRUCTIONS: render_instructions(task, interpreter).encode(),
        REQUIREMENTS: _name_versions(task.requirements).encode(),
    }
    if shown := list_shown(task):
        files[TESTS] = "".join(f"{test}\n" for test in shown).encode()
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def _name_versions(lock: str) -> str:
    """Without hashes, which flood whoever reads it."""
    lines = [line.removesuffix("\\").strip() for line in lock.splitlines() if not line.startswith((" ", "#"))]
    return "".join(f"{line}\n" for line in lines if line)


def render_instructions(task: OpenTask, interpreter: str = "python") -> str:
    record, project = task.record, task.prepared.project
    names = _render_list("Names and messages that tests use and that occur nowhere else", record.required_names)
    names += _render_list("Errors and warnings that hidden tests expect", record.expected_errors)
    packages = sorted(find_packages(record.files, task.prepared)) or list(record.files)
    settings = {"OMP_NUM_THREADS": "1"} | project.tests.env
    has_tests = bool(list_shown(task))  # pytest would run everything for an empty list
    kind = f" They are of the same kind as those of `{TESTS}`. No other test judges." if record.visible else ""
    if record.unchanged:
        kind += f" Besides, {len(record.unchanged)} tests of `{TESTS}` pass now and must still pass."
    uses = list_uses(task.reference, task.packages) - list_uses(task.base, task.packages)
    rules = _RULES.format(
        packages=", ".join(f"`{package}`" for package in packages),
        kind=kind,
        uses=f" It uses: {', '.join(f'`{one}`' for one in sorted(uses))}." if uses else "",
        tests=f"run the tests of `{TESTS}`" if has_tests else "run the release's tests, none of which judges,",
        python=project.python,
        requirements=REQUIREMENTS,
        root=project.import_root,
        interpreter=interpreter,
        settings="".join(f"{name}={shlex.quote(value)} " for name, value in settings.items()),
        arguments=" ".join([*project.tests.args, f"@{TESTS}" if has_tests else shlex.quote(project.tests.root)]),
        names=names,
    )
    verb = "Rebuild" if isinstance(record, Rebuild) else "Write" if isinstance(record, Component) else "Change"
    return f"# {verb} a part of {project.name} {project.version}\n\n{describe_asked(task)}{rules.rstrip()}\n"


def _render_list(title: str, entries: Sequence[str]) -> str:
    lines = "".join(f"\n- `{one}`" for one in entries)
    return f"\n{title}:\n{lines}\n" if lines else ""


def describe_asked(task: OpenTask) -> str:
    """What is to be done, and where, as Markdown."""
    record = task.record
    places = "\n".join(f"- `{place}`{'' if place in task.base else ', a new file'}" for place in record.files)
    if isinstance(record, Rebuild):
        return _REBUILD.format(count=len(record.files), modules=places)
    if isinstance(record, Component):
        modules = {path: Module(text.decode()) for path, text in task.base.items()}
        pairs = [one.partition("::") for one in record.asked]
        shown = [f"- `{path}`: `{name}`" for path, _, name in pairs if modules[path].list_inside([name])]
        places = (
            "The docstrings and the bodies of these definitions were removed, with private helpers that nothing else"
            " uses. Write them, and any private helper that you need. Everything else is as in the release.\n\n"
            + "\n".join(shown)
        )
    return _DESCRIBED.format(description=record.description.strip(), modules=places)


def read_answer(task: OpenTask, folder: Path) -> tuple[dict[str, bytes | None], list[str]]:
    """What the folder changes in the one that was checked out, and its links, which change nothing."""
    if not folder.is_dir():
        fix = "name the folder that `dlbench task checkout` wrote"
        raise DLBenchError("there is no such folder", where=str(folder), fix=fix)
    given = build_folder(task)
    found: dict[str, bytes] = {}
    links: list[str] = []
    for count, (path, place) in enumerate(_walk(folder)):
        if count > _MOST_ENTRIES:
            fix = "remove environments and data from it"
            raise DLBenchError(f"the folder has more than {_MOST_ENTRIES} files", where=str(folder), fix=fix)
        if place.is_symlink():
            links.append(path)
        elif path not in _OURS:
            found[path] = place.read_bytes()
    if not found.keys() & given.keys():
        fix = "name the folder that `dlbench task checkout` wrote for this task"
        raise DLBenchError(f"no file of {task.record.id} is in the folder", where=str(folder), fix=fix)
    changed: dict[str, bytes | None] = {path: text for path, text in found.items() if given.get(path) != text}
    gone = [path for path in given if path not in found and path not in links]
    return changed | dict.fromkeys(gone), links


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    for here, folders, names in os.walk(folder):
        skipped = {one for one in folders if one.startswith(".") or (Path(here, one) / "pyvenv.cfg").exists()}
        folders[:] = [one for one in folders if one not in skipped | {"__pycache__", "node_modules"}]
        linked = [one for one in folders if Path(here, one).is_symlink()]
        for name in [*names, *linked]:
            place = Path(here, name)
            if place.is_symlink() or place.is_file():
                yield place.relative_to(folder).as_posix(), place


def find_copies(task: OpenTask) -> Iterator[str]:
    yield from (f"{path} shows most bodies of {module}" for path, module in list_copies(task))


def list_copies(task: OpenTask) -> Iterator[tuple[str, str]]:
    """Files of the folder with the reduced module of which they hold most bodies. Single bodies that modules share are
    no copy."""
    shown = {body for content in task.base.values() for body in _list_bodies(content)}
    removed = {path: set(_list_bodies(content)) - shown for path, content in task.reference.items() if content}
    for path, content in build_folder(task).items():
        if path.endswith(".py") and path not in task.record.files:
            found = set(_list_bodies(content))
            yield from ((path, one) for one, bodies in removed.items() if _is_copy(bodies, found))


def _is_copy(bodies: set[str], shown: set[str]) -> bool:
    """Whether most of these bodies are shown."""
    return 2 * sum(map(len, bodies & shown)) > sum(map(len, bodies))


def _list_bodies(source: bytes) -> Iterator[str]:
    try:
        tree = parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield "\n".join(map(unparse, find_body(node)))
