"""How does a process that wears a blindfold empty the folders where a check could write?

Landlock lets nobody who is confined by it move a file from one folder to another, so that what lies deep cannot be
brought up, as the server does it. Here one goes down to it and up again, a folder at a time, however deep it is.
"""

from __future__ import annotations

import contextlib
import os


def sweep(folders: dict[str, list[str]]) -> None:
    """Each folder with what was in it from the start, which stays; of a home only itself does."""
    for folder, kept in folders.items():
        _empty(folder, set(kept))
        if "home" in kept:
            _empty(os.path.join(folder, "home"), set())


def _empty(folder: str, kept: set[str]) -> None:
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in set(os.listdir(place)) - kept:
            try:
                os.unlink(name, dir_fd=place)
            except OSError:
                with contextlib.suppress(OSError):  # what the sandbox itself put there
                    _remove(place, name)
    finally:
        os.close(place)


def _remove(place: int, name: str) -> None:
    """One folder with all that is below it. Nobody else moves anything meanwhile."""
    way = [name]
    here = _enter(place, name)
    while way:
        below = _clear_files(here)
        if below:
            inner = _enter(here, below)
            way.append(below)
        else:
            inner = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.rmdir(way.pop(), dir_fd=inner)
        os.close(here)
        here = inner
    os.close(here)


def _enter(place: int, name: str) -> int:
    with contextlib.suppress(OSError):
        os.chmod(name, 0o700, dir_fd=place)  # its owner may have closed it
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)


def _clear_files(place: int) -> str:
    """Removes the files of a folder; the name of a folder in it, if there is one."""
    below = ""
    for name in os.listdir(place):
        try:
            os.unlink(name, dir_fd=place)
        except OSError:
            below = name
    return below
