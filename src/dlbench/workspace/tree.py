"""What is a source tree, byte for byte?

`tree_hash` names the content of a folder, so that a local project is pinned as firmly as a release. Both it and the
copy pass over what is not source (version control, bytecode, virtual environments): otherwise a run of the tests
would change the hash, and a project would be copied together with its own torch.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

_NOT_SOURCE = (".git", "__pycache__")


def tree_hash(folder: Path) -> str:
    """sha256 over the sorted relative paths and contents; of a link, where it points to."""
    total = hashlib.sha256()
    for path in sorted(_files(folder), key=lambda path: path.relative_to(folder).as_posix()):
        if path.is_symlink():
            digest = hashlib.sha256(b"link " + os.fsencode(path.readlink())).hexdigest()
        else:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()}\0{digest}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def copy_tree(folder: Path, target: Path) -> None:
    for path in _files(folder):
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=False)


def remove_bytecode(tree: Path) -> None:
    for folder in list(tree.rglob("__pycache__")):
        shutil.rmtree(folder)


def plain_modes(tree: Path) -> None:
    """Readable by all and writable by us, whatever the source or our umask said: tests run as another user."""
    tree.chmod(0o755)
    for path in tree.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _files(folder: Path) -> Iterator[Path]:
    for top, folders, files in os.walk(folder):
        here = Path(top)
        # A link to a folder is listed as a folder, but it is one entry and is not walked into.
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [
            name
            for name in folders
            if name not in links and name not in _NOT_SOURCE and not (here / name / "pyvenv.cfg").exists()
        ]
        for name in files + links:
            if (here / name).is_symlink() or (here / name).is_file():
                yield here / name
