"""Send files that tests have written to the candidate's process, where an argument of a call names them."""

import glob
import os
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

_MOST_BYTES = 64 << 20


def collect_files(arguments: Iterable[Any]) -> tuple[str, tuple[tuple[str, bytes], ...]] | None:
    """The folder for temporary files of this process and, by their paths in it, the files that the arguments name,
    or name without a suffix. None if no argument is a path in that folder."""
    folder = os.path.realpath(os.environ["TMPDIR"])
    paths = [os.path.abspath(os.fspath(one)) for one in arguments if type(one) is str or isinstance(one, PurePath)]
    named = [path for path in paths if path.startswith(folder + os.sep)]
    starts = [start for path in named for start in (path, *glob.glob(f"{glob.escape(path)}.*"))]
    below = [os.path.join(place, name) for start in starts for place, _, names in os.walk(start) for name in names]
    files = [file for file in dict.fromkeys([*starts, *below]) if os.path.isfile(file)]
    if not named or sum(map(os.path.getsize, files)) > _MOST_BYTES:
        return None
    return folder, tuple((os.path.relpath(file, folder), _read(file)) for file in files)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class ReceivedFiles:
    """Files of the tests' process, in this process's own folder for temporary files."""

    def __init__(self) -> None:
        self._theirs = ""
        self._own = os.path.realpath(os.environ["TMPDIR"])

    def write(self, folder: str, files: Iterable[tuple[str, bytes]]) -> None:
        self._theirs = folder
        for name, data in files:
            path = os.path.join(self._own, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)

    def translate(self, argument: Any) -> Any:  # noqa: ANN401
        """The argument; if it is a path of the tests' process, that of this process."""
        if type(argument) is not str and not isinstance(argument, PurePath):
            return argument
        path = os.fspath(argument)
        is_theirs = bool(self._theirs) and path.startswith(self._theirs + os.sep)
        return type(argument)(self._own + path[len(self._theirs) :]) if is_theirs else argument
