"""How does one process serve many solutions, each of which meets many checks?

As for candidates: the worker has imported what is heavy, a process below it the project, and a server for each instance
puts a stand-in for the target. The project's tests are not collected, and nobody here can read them. For each solution
the server forks a conductor, which takes the solution in and forks for each check.
"""

from __future__ import annotations

import contextlib
import importlib
import linecache
import os
import socket
import sys
from functools import partial
from typing import Any

from .. import privileges, serving
from ..asking import make_asks, recognise
from ..child import Child
from ..files import find_blinded, find_hidden, find_tests
from ..finding_out import find_us, forget_us
from ..guard import find_guarded, guard_modules, install
from ..seal import check, seal
from ..taking import Called, Override, cover, exchange, find_stand_in, take
from .comparing import warm_up
from .conducting import conduct, open_row


def fork_servers(control: socket.socket, job: dict[str, Any], above: list[int], called: Called) -> None:
    while True:
        serving._reap()
        message, descriptors = serving.receive(control)
        own = socket.socket(fileno=descriptors[0])
        if os.fork() == 0:
            control.close()
            privileges.adopt_orphans()
            kind = message["serve"]
            if kind == "project":
                serve = partial(serving.serve_project, own, job | message, above)
            elif kind == "in_place":
                serve = partial(serve_in_place, own, job | message, above, called)
            else:
                serve = partial(serve_imported, own, job | message, above)
            serving._guarded(own, serve)
        own.close()


def serve_in_place(control: socket.socket, job: dict[str, Any], above: list[int], called: Called) -> None:
    """The server of an instance whose solutions are taken in place."""
    path = os.path.join(job["tree"], job["path"])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if job["module"] in sys.modules:
        exchange(job["module"], job["qualname"], path, text, job["line"], called)
    override = Override(path, text, masked=(job["line"], job["qualname"].rpartition(".")[2]))
    sys.meta_path.insert(0, override)
    for name in job["own"]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    importlib.import_module(job["module"])
    function = find_stand_in(job["module"], job["qualname"])
    sys.meta_path.remove(override)
    override.text = ""
    for name in job["lazy"]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    warm_up()
    serving._forbid_backends()
    names = sys.modules[job["module"]].__dict__
    blindfold = privileges.build_blindfold(find_blinded(job), job["readable"])
    look = seal(find_tests(job), job["tree"])
    ours = find_us()
    arm = guard_modules(find_guarded(find_tests(job)))
    cover(path, text, function)
    serving._settle()
    serving.tell(control, kind="open")

    def meet(message: dict[str, Any], descriptors: list[int]) -> None:
        child = Child(None, job, message, descriptors, _find_above(above))
        filename = message["patch"]["filename"]
        child.prepare(blindfold)
        row = open_row(child, descriptors[0], look)
        is_mine = recognise(filename, [])
        install(make_asks(is_mine, filename, []), row["tampered"], find_hidden(child.job), arm)
        forget_us(ours)
        try:
            take(function, names, message["patch"])
        except BaseException as error:
            child.send("not_in_place", why=f"{type(error).__name__}: {error}")
            os._exit(0)
        conduct(row, names, is_mine, function.__code__)

    serving._serve(control, job["folders"], meet)


def serve_imported(control: socket.socket, job: dict[str, Any], above: list[int]) -> None:
    """The server of an instance whose solutions must be imported: it holds nothing of the project."""
    warm_up()
    serving._forbid_backends()
    serving._settle()
    serving.tell(control, kind="open")

    def meet(message: dict[str, Any], descriptors: list[int]) -> None:
        child = Child(None, job, message, descriptors, _find_above(above))
        child.prepare(None)
        _import_and_conduct(child, descriptors[0])

    serving._serve(control, job["folders"], meet)


def _import_and_conduct(child: Child, channel: int) -> None:
    """The solution's own lines run during the import: everything is hidden, sealed and guarded before."""
    job = child.job
    path = os.path.join(job["tree"], job["path"])
    ranges = [(first, last) for first, last in job["ranges"]]
    sys.meta_path.insert(0, Override(path, job["source"]))
    linecache.cache[path] = (len(job["source"]), None, job["source"].splitlines(keepends=True), path)
    blindfold = privileges.build_blindfold(find_blinded(job), job["readable"])
    if blindfold is not None:
        privileges.put_on(blindfold)
    look = seal([], job["tree"])
    row = open_row(child, channel, look)
    is_mine = recognise(path, ranges)
    arm = guard_modules(find_guarded(find_tests(job)))
    install(make_asks(is_mine, path, ranges), row["tampered"], find_hidden(job), arm)
    forget_us(find_us())
    child.send("started")
    try:
        module = importlib.import_module(job["module"])
    except BaseException as error:
        child.send("broken", why=f"{type(error).__name__}: {error}"[:500])
        os._exit(0)
    check(look, row["tampered"])
    child.send("collected")  # from here on the checks' own time runs
    conduct(row, module.__dict__, is_mine, _find_code(module, job["qualname"]))


def _find_code(module: Any, qualname: str) -> Any:  # noqa: ANN401 - what the module holds
    found: Any = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return getattr(getattr(found, "__func__", found), "__code__", None)


def _find_above(above: list[int]) -> list[int]:
    return [os.getppid(), *above, serving.find_group(above[-1])]
