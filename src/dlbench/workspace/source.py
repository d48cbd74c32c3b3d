"""Fetch a project's source tree exactly as its record pins it.

The tree's folder is named after everything that went into it. Git runs without hooks, prompts or the caller's GIT_*
variables, which would redirect a run inside a git hook to the wrong repository. Compiled parts come from the wheel of
the same release, since compilers differ between machines; only files that the source archive does not have are taken
from it, so every reference and test is read from the released source.
"""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from dlbench.dataset.records import GitSource, Project, Wheel
from dlbench.errors import DLBenchError
from dlbench.workspace.archive import check_links, copy_tree, file_hash, plain_modes, remove_bytecode, tree_hash, unpack
from dlbench.workspace.home import Log, building, home, locked, run_program
from dlbench.workspace.package_index import download, verify
from dlbench.workspace.pip_config import redacted

_OPTIONS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.autocrlf=false", "-c", "advice.detachedHead=false")
# Variables that point a git command at another repository (from `git rev-parse --local-env-vars`).
_LOCAL = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE",
)  # fmt: skip


def check_out(source: GitSource, target: Path) -> None:
    """Write the files of the revision into the new or empty folder `target`, without the repository."""
    target.mkdir(parents=True, exist_ok=True)
    _git(source, target, "init", "--quiet")
    try:
        _git(source, target, "fetch", "--quiet", "--depth", "1", "--", source.url, source.rev)
    except DLBenchError:
        # Some servers serve only branches and tags, not bare revisions.
        _git(source, target, "fetch", "--quiet", "--", source.url, "+refs/*:refs/fetched/*")
    _git(source, target, "checkout", "--quiet", "--detach", source.rev)
    shutil.rmtree(target / ".git")


def resolve_revision(url: str, name: str = "HEAD") -> str:
    """The full revision that a branch or tag of the repository names now; a full revision names itself."""
    if re.fullmatch(r"[0-9a-f]{40}", name):
        return name
    source = GitSource.model_construct(url=url, rev=name)
    listed = _git(source, home(), "ls-remote", "--", url, name, f"{name}^{{}}").splitlines()
    revisions = {ref: revision for revision, ref in map(str.split, listed)}
    for ref in (f"refs/heads/{name}", f"refs/tags/{name}^{{}}", f"refs/tags/{name}", name):
        if ref in revisions:
            return revisions[ref]
    fix = "give a branch, a tag, or all 40 digits of a revision"
    raise DLBenchError(f"the repository has no branch or tag {name!r}", where=redacted(url), fix=fix)


def _git(source: GitSource, folder: Path, *arguments: str) -> str:
    if shutil.which("git") is None:
        what, fix = "git is not installed, and this project comes from a git repository", "install git and rerun"
        raise DLBenchError(what, where=redacted(source.url), fix=fix)
    environment = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    done = run_program(["git", *_OPTIONS, *arguments], folder, environment | {"GIT_TERMINAL_PROMPT": "0"})
    if done.returncode:
        message = " ".join(redacted(done.stderr).split()[-60:])
        what = f"revision {source.rev} could not be fetched: git {arguments[0]} says: {message}"
        fix = "check the address, the revision and the connection, and run the same command again"
        raise DLBenchError(what, where=redacted(source.url), fix=fix)
    return done.stdout


def choose_wheel(project: Project) -> Wheel:
    """The record's first wheel that this machine can load."""
    major, minor = map(int, project.python.split("."))
    supported = {*cpython_tags((major, minor)), *compatible_tags((major, minor))}
    for wheel in project.wheels:
        try:
            *_, tags = parse_wheel_filename(wheel.file)
        except InvalidWheelFilename as error:
            fix = "fix `wheels` in the project's record"
            raise DLBenchError(f"not a wheel file name: {error}", where=project.name, fix=fix) from None
        if supported & tags:
            return wheel
    names = ", ".join(wheel.file for wheel in project.wheels)
    what = f"none of its wheels can be loaded on this machine by Python {project.python}: {names}"
    fix = "exclude the project (--project), or use a machine that one of them supports"
    raise DLBenchError(what, where=project.name, fix=fix)


_LAYOUT = 1  # Incremented when this module makes a different tree from the same record.


def fetch(project: Project, benchmark_root: Path, log: Log) -> Path:
    """The project's source tree, fetched and verified once; read-only by convention."""
    tree = source_tree(project, benchmark_root)
    if tree.is_dir():
        return tree
    with locked(f"source-{tree.parent.name}", log):
        if not tree.is_dir():
            log(f"preparing the source of {project.name} {project.version}")
            with building(tree.parent) as folder:
                _make(project, benchmark_root, folder / tree.name, log)
    return tree


def source_tree(project: Project, benchmark_root: Path) -> Path:
    """Where `fetch` puts the tree, whether it exists yet or not."""
    place = _place(project, benchmark_root) if project.path else None
    facts = [
        _LAYOUT,
        project.sha256,
        project.git.rev if project.git else None,
        place and (file_hash(place) if place.is_file() else tree_hash(place)),
        project.name,
        project.version,
        project.import_root,
        sorted(project.tests.files.items()),
        *([choose_wheel(project).sha256] if project.wheels else []),
    ]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    version = re.sub(r"[^A-Za-z0-9._+-]", "_", project.version)
    return home() / "sources" / f"{project.name}-{version}-{key}" / "tree"


def pin(project: Project, benchmark_root: Path) -> Project:
    """The record of a folder with the hash of what is in it now."""
    if project.path is None or project.sha256 or (place := _place(project, benchmark_root)).is_file():
        return project
    return project.model_copy(update={"sha256": tree_hash(place)})


def _make(project: Project, benchmark_root: Path, tree: Path, log: Log) -> None:
    if project.archive:
        _unpack(fetch_archive(project.name, project.archive, project.sha256 or "", log), tree)
        if project.wheels:
            _add_compiled(project, tree, log)
    elif project.git:
        check_out(project.git, tree)
        check_links(tree, project.name)
    elif (place := _place(project, benchmark_root)).is_file():
        _unpack(place, tree)
    else:
        copy_tree(place, tree)
    if project.sha256 and not project.archive and (found := tree_hash(tree)) != project.sha256:
        what = f"the source is not the one that was pinned: its sha256 is {found}, the record says {project.sha256}"
        fix = "restore it, or construct again into another folder: its tests and functions may have changed"
        raise DLBenchError(what, where=project.path or project.name, fix=fix)
    remove_bytecode(tree)
    _write_stand_ins(project, tree)
    _write_metadata(project, tree)
    plain_modes(tree)


def _place(project: Project, benchmark_root: Path) -> Path:
    """The folder or archive file that the record's `path` names."""
    # Normalized, since the benchmark's folder may not exist yet while a project is set up.
    place = Path(os.path.normpath(benchmark_root.resolve() / Path(project.path or ".").expanduser()))
    if not place.exists():
        what, fix = "the project's folder does not exist", "fix `path` in the project's record"
        raise DLBenchError(what, where=str(place), fix=fix)
    return place


def _unpack(archive: Path, tree: Path) -> None:
    unpack(archive, tree)
    build_output = tree / "build"
    # Some releases contain their own build output; its copies of the tests would be collected too.
    if archive.suffix != ".whl" and build_output.is_dir() and not (build_output / "__init__.py").exists():
        shutil.rmtree(build_output)


def _add_compiled(project: Project, tree: Path, log: Log) -> None:
    """Copy the files of the wheel that the tree does not have."""
    wheel, unpacked = choose_wheel(project), tree.with_name("wheel")
    unpack(fetch_archive(project.name, wheel.file, wheel.sha256, log), unpacked)
    for path in sorted(unpacked.rglob("*")):
        target = tree / project.import_root / path.relative_to(unpacked)
        if path.is_file() and not path.is_symlink() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    shutil.rmtree(unpacked)


def fetch_archive(project_name: str, filename: str, sha256: str, log: Log) -> Path:
    """The release file with this hash, fetched once."""
    archive = home() / "archives" / sha256 / filename
    with locked(f"archive-{sha256}", log):
        if archive.is_file():
            try:
                verify(archive, sha256, str(archive))
            except DLBenchError:  # Corrupted on disk: fetch it again.
                archive.unlink()
        if not archive.is_file():
            download(project_name, filename, sha256, archive, log)
    return archive


def _write_stand_ins(project: Project, tree: Path) -> None:
    for name, text in project.tests.files.items():
        path = tree / name
        if not path.resolve().is_relative_to(tree.resolve()):
            what, fix = f"the stand-in file {name!r} would be written outside the tree", "fix `tests.files`"
            raise DLBenchError(what, where=project.name, fix=fix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _write_metadata(project: Project, tree: Path) -> None:
    """Add package metadata: many packages read their own version with `importlib.metadata`."""
    root = tree / project.import_root
    if not root.is_dir():
        what, fix = f"the source has no folder {project.import_root!r}", "fix `import_root` in the project's record"
        raise DLBenchError(what, where=project.name, fix=fix)
    if any(root.glob("*.egg-info")) or any(root.glob("*.dist-info")):
        return
    text, upstream = f"Metadata-Version: 2.1\nName: {project.name}\nVersion: {project.version}\n", tree / "PKG-INFO"
    if upstream.is_file():
        text = upstream.read_text(encoding="utf-8", errors="replace")
    name = re.sub(r"[-_.]+", "_", project.name)
    folder = root / f"{name}-{re.sub(r'[^A-Za-z0-9._+!]', '_', project.version)}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(text, encoding="utf-8")
