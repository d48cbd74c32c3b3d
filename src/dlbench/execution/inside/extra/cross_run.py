"""Where does a worker of meetings begin? As any worker does, with another way to serve.

What did a solution return, in a form that can be compared outside?

Numbers, texts, lists and arrays, cut short: enough to tell two behaviours apart, not to rebuild the value. Of an array
the shape and some numbers, taken at equal distances; of anything else the name of its class. What was cut says so,
since two values may differ just there. All of it together stays small: a line of the channel that is too long is no
line at all, and would cost other meetings theirs.

What happens in the process in which one solution meets one check?

It gives up the power over its conductor, sets its seeds, runs the check and says what became of it. For solutions that
do more than compute it is looked, as the judge does, whether they hand out values that say yes to everything, or
replaced what checks compare with.

How does a process that wears a blindfold empty the folders where a check could write?

Landlock lets nobody who is confined by it move a file from one folder to another, so that what lies deep cannot be
brought up, as the server does it. Here one goes down to it and up again, a folder at a time, however deep it is.

How does one solution meet many checks, none of which can touch the next?

The conductor has taken the solution in and runs nothing of it: for each check it forks, and only the fork runs solution
and check, with a limit of its own. What becomes of it is said on a pipe of this one meeting, under a key of this one
meeting, so that whatever a check or a solution does (leaves, hangs, writes, patches, forks, lies) is said of that
meeting alone. Before the next begins nothing of it is left, no process and no file.

What is imported when numbers are first compared, so that no check has to wait for it?

Frameworks load half of themselves with their first comparison: `torch.testing.assert_close` takes seconds the first
time. Once, before the forks, it is paid for all.

How does one process serve many solutions, each of which meets many checks?

As for candidates: the worker has imported what is heavy, a process below it the project, and a server for each instance
puts a stand-in for the target. The project's tests are not collected, and nobody here can read them. For each solution
the server forks a conductor, which takes the solution in and forks for each check.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import importlib
import json
import linecache
import os
import select
import socket
import sys
import time
import types
from opcode import opname
from types import CodeType
from typing import Any

import pytest

from .. import privileges, server
from ..audit import (
    IsCandidateCode,
    find_guarded,
    guard_modules,
    install,
    list_harness_modules,
    make_access_check,
    make_tampered,
    recognise,
    unload_harness_modules,
)
from ..channel import Send, open_channel
from ..child import Child, clear
from ..control_tests import _THOROUGH
from ..fresh_run import find_blinded, find_hidden, find_tests
from ..integrity import FindReplaced, check, take_snapshot
from ..live_patch import Called, Override, find_placeholder, hide_source, install_placeholder, patch_function
from ..privileges import adopt_orphans, protect, set_limits
from ..pytest_runner import seed_everything
from ..return_values import watch

_MOST = 64
_DEEPEST = 4
_LONGEST = 200
_LEAVES = 512
"""Numbers and pieces of text of one value; some ten kilobytes."""


def describe(value: Any) -> Any:  # noqa: ANN401 - any value, as what JSON has
    return _describe_safely(value, 0, [_LEAVES])


def _describe_safely(value: Any, depth: int, left: list[int]) -> Any:  # noqa: ANN401 - any value, as what JSON has
    try:
        return _describe(value, depth, left)
    except Exception:
        return {"class": type(value).__name__}


def _describe(value: Any, depth: int, left: list[int]) -> Any:  # noqa: ANN401 - any value, as what JSON has
    left[0] -= 1
    if left[0] < 0:
        return {"cut": type(value).__name__}
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _LONGEST:
        return {"cut": value.bit_length(), "class": "int"}
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | bytes):
        return _describe_text(value, left)
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "reshape"):
        return _describe_array(value, shape, left)
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return _mark_cut([_describe_safely(one, depth + 1, left) for one in value[:_MOST]], "list", len(value))
    if depth < _DEEPEST and isinstance(value, set | frozenset):
        told = sorted((_describe_safely(one, depth + 1, left) for one in value), key=repr)[:_MOST]
        return {"set": told} | ({"cut": len(value)} if len(value) > _MOST else {})
    if depth < _DEEPEST and isinstance(value, dict):
        pairs = list(value.items())[:_MOST]
        found = {_describe_key(key, left): _describe_safely(one, depth + 1, left) for key, one in pairs}
        return _mark_cut(found, "dict", len(value))
    return {"class": type(value).__name__}


def _describe_text(value: str | bytes, left: list[int]) -> Any:  # noqa: ANN401 - a text, or a part of one
    left[0] -= min(len(value), _LONGEST) // 8
    told = value[:_LONGEST]
    if isinstance(told, bytes):
        return _mark_cut({"bytes": told.hex()}, "bytes", len(value), _LONGEST)
    return _mark_cut(told, "text", len(value), _LONGEST)


def _describe_key(key: Any, left: list[int]) -> str:  # noqa: ANN401 - whatever can be a key
    told = str(key)[:100]
    left[0] -= len(told) // 8
    return told


def _describe_array(value: Any, shape: Any, left: list[int]) -> dict[str, Any]:  # noqa: ANN401 - of any library
    flat = (value.detach() if hasattr(value, "detach") else value).reshape(-1)
    size = int(flat.shape[0])
    numbers = flat[:: max(1, -(-size // _MOST))].tolist()
    told = {"shape": [int(one) for one in shape], "values": [_describe_safely(one, _DEEPEST, left) for one in numbers]}
    return told | ({"cut": size} if size > _MOST else {})


def _mark_cut(told: Any, kind: str, length: int, most: int = _MOST) -> Any:  # noqa: ANN401 - as it is where it is whole
    return told if length <= most else {kind: told, "cut": length}


_MOST_CALLS = 4


def attend(
    row: dict[str, Any],
    channel: int,
    secret: bytes,
    conductor: int,
    source: str,
    names: dict[str, Any],
    is_mine: IsCandidateCode,
    code: types.CodeType | None,
) -> None:
    """Never returns: the process ends when it has spoken."""
    job, leave = row["job"], os._exit
    os.setsid()
    os.close(row["channel"])  # what is written there would be said of all meetings
    row["speak"][0] = send = open_channel(channel, secret)
    set_limits({"RLIMIT_CPU": int(3 * job["seconds_each"]) + 2})
    protect([conductor])
    seed_everything()
    module = types.ModuleType("check")
    module.__dict__.update({name: value for name, value in names.items() if not name.startswith("__")})
    sys.modules["check"] = module
    outputs: list[Any] = []
    if job["watch"]:
        watch(is_mine, names, job["classes"], row["look"], row["tampered"])
    elif job["outputs"] and code is not None:
        _collect(code, outputs)
    outcome, message = _run(source, module.__dict__)
    sys.setprofile(None)
    if outcome == "passed" and job["watch"]:
        _look_again(row)
    send("result", outcome=outcome, message=message, outputs=outputs)
    leave(0)


def _run(source: str, space: dict[str, Any]) -> tuple[str, str]:
    try:
        exec(compile(source, "<check>", "exec", dont_inherit=True), space)
    except (AssertionError, pytest.fail.Exception) as error:
        return "failed", _tell(error)
    except BaseException as error:
        return "error", _tell(error)
    return "passed", ""


def _tell(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:300]
    except BaseException:
        return type(error).__name__


def _collect(code: types.CodeType, outputs: list[Any]) -> None:
    """Keeps what the target returns, described, of its first calls. A frame that an error leaves returns None, too."""

    def profile(frame: types.FrameType, event: str, value: Any) -> None:  # noqa: ANN401 - any return value
        if event == "return" and frame.f_code is code and len(outputs) < _MOST_CALLS:
            outputs.append(describe(value) if value is not None or _is_at_return(frame) else {"raised": True})

    sys.setprofile(profile)


def _is_at_return(frame: types.FrameType) -> bool:
    return opname[frame.f_code.co_code[frame.f_lasti]].startswith(("RETURN", "YIELD"))


def _look_again(row: dict[str, Any]) -> None:
    check(row["look"], row["tampered"], quickly=True)
    try:
        _THOROUGH["test_wrong_comparisons"]()
    except AssertionError:
        return
    row["tampered"]("a comparison that must fail did not")


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


_STARVED = 3.0
_MOST_BYTES = 1 << 20

Row = dict[str, Any]
"""One solution's: how it speaks (`speak` holds who is meant by it now) and where, its job, and what was sealed."""


def open_row(child: Child, channel: int, look: FindReplaced) -> Row:
    speak: list[Send] = [child.send]

    def log(kind: str, **content: Any) -> None:  # noqa: ANN401 - whatever JSON takes
        speak[0](kind, **content)

    tampered, _ = make_tampered(log, child.job["allowed"], learn=False)
    return {"speak": speak, "channel": channel, "job": child.job, "look": look, "tampered": tampered}


def conduct(row: Row, names: dict[str, Any], is_mine: IsCandidateCode, code: CodeType | None) -> None:
    """Every check in its order; then the process ends."""
    adopt_orphans()
    job, send = row["job"], row["speak"][0]
    conductor = os.getpid()
    for place, source in enumerate(job["checks"]):
        reading, writing = os.pipe()
        secret = os.urandom(32)
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with contextlib.suppress(BaseException):
                attend(row, writing, secret, conductor, source, names, is_mine, code)
            os._exit(1)
        os.close(writing)
        data, is_late = _await(child, reading, job["seconds_each"])
        seconds = time.monotonic() - began
        os.close(reading)
        status, _ = clear(child)
        sweep(job["folders"])
        said = _listen(data, secret)
        if said is None:
            ended = "timeout" if is_late else "tampered" if data else "crashed"
            said = {"outcome": ended, "message": "" if is_late else f"exit code {status}"}
        elif said["kind"] == "tampered":
            said = {"outcome": "tampered", "message": said["why"]}
        send(
            "meeting",
            place=place,
            outcome=said["outcome"],
            message=str(said.get("message", ""))[:300],
            outputs=said.get("outputs", []),
            seconds=round(seconds, 4),
        )
    send("end")
    os._exit(0)


def _await(child: int, channel: int, seconds: float) -> tuple[bytes, bool]:
    """What it said until it ended, and whether it had to be stopped for taking too long."""
    ended = os.pidfd_open(child)
    began = time.monotonic()
    os.set_blocking(channel, False)
    data = b""
    waiting = [ended, channel]
    try:
        while True:
            left = began + seconds - time.monotonic()
            ready, _, _ = select.select(waiting, [], [], max(0.0, min(left, 1.0)))
            if channel in ready and not (new := _read(channel)):
                waiting.remove(channel)
            elif channel in ready:
                data = (data + new)[:_MOST_BYTES]
            if ended in ready:
                while new := _read(channel):
                    data = (data + new)[:_MOST_BYTES]
                    if len(data) == _MOST_BYTES:
                        break
                return data, False
            passed = time.monotonic() - began
            if passed > seconds and (passed > _STARVED * seconds or passed - _waited(child) > seconds):
                return b"", True
    finally:
        os.close(ended)


def _read(channel: int) -> bytes:
    with contextlib.suppress(BlockingIOError):
        return os.read(channel, 1 << 16)
    return b""


def _waited(process: int) -> float:
    """Seconds that it was ready and others had the processor: those are not its own."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{process}/schedstat") as file:
        return int(file.read().split()[1]) / 1e9
    return 0.0


def _listen(data: bytes, secret: bytes) -> dict[str, Any] | None:
    """The first thing said, if it was said by whom it should be; what comes after it is not heard."""
    mac, _, body = data.partition(b"\n")[0].partition(b" ")
    if not hmac.compare_digest(mac, hmac.new(secret, body, hashlib.sha256).hexdigest().encode()):
        return None
    said = json.loads(body)
    return said if isinstance(said, dict) else None


def warm_up() -> None:
    modules: dict[str, Any] = sys.modules
    with contextlib.suppress(Exception):
        numpy = modules["numpy"]
        __import__("numpy.testing")
        numpy.testing.assert_allclose(numpy.ones(2), numpy.ones(2))
    with contextlib.suppress(Exception):
        torch = modules["torch"]
        __import__("torch.testing")
        torch.testing.assert_close(torch.ones(2), torch.ones(2))
        torch.manual_seed(0)
    with contextlib.suppress(Exception):
        __import__("unittest.mock")


def serve_in_place(control: socket.socket, job: dict[str, Any], above: list[int], called: Called) -> None:
    """The server of an instance whose solutions are taken in place."""
    path = os.path.join(job["tree"], job["path"])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if job["module"] in sys.modules:
        install_placeholder(job["module"], job["qualname"], path, text, job["line"], called)
    override = Override(path, text, masked=(job["line"], job["qualname"].rpartition(".")[2]))
    sys.meta_path.insert(0, override)
    for name in job["own"]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    importlib.import_module(job["module"])
    function = find_placeholder(job["module"], job["qualname"])
    sys.meta_path.remove(override)
    override.text = ""
    for name in job["lazy"]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    warm_up()
    server._forbid_backends()
    names = sys.modules[job["module"]].__dict__
    blindfold = privileges.build_blindfold(find_blinded(job), job["readable"])
    look = take_snapshot(find_tests(job), job["tree"])
    ours = list_harness_modules()
    arm = guard_modules(find_guarded(find_tests(job)))
    hide_source(path, text, function)
    server._settle()
    server.tell(control, kind="open")

    def meet(message: dict[str, Any], descriptors: list[int]) -> None:
        child = Child(None, job, message, descriptors, _find_above(above))
        filename = message["patch"]["filename"]
        child.prepare(blindfold)
        row = open_row(child, descriptors[0], look)
        is_mine = recognise(filename, [])
        install(make_access_check(is_mine, filename, []), row["tampered"], find_hidden(child.job), arm)
        unload_harness_modules(ours)
        try:
            patch_function(function, names, message["patch"])
        except BaseException as error:
            child.send("not_in_place", why=f"{type(error).__name__}: {error}")
            os._exit(0)
        conduct(row, names, is_mine, function.__code__)

    server._serve(control, job["folders"], meet)


def serve_imported(control: socket.socket, job: dict[str, Any], above: list[int]) -> None:
    """The server of an instance whose solutions must be imported: it holds nothing of the project."""
    warm_up()
    server._forbid_backends()
    server._settle()
    server.tell(control, kind="open")

    def meet(message: dict[str, Any], descriptors: list[int]) -> None:
        child = Child(None, job, message, descriptors, _find_above(above))
        child.prepare(None)
        _import_and_conduct(child, descriptors[0])

    server._serve(control, job["folders"], meet)


def _import_and_conduct(child: Child, channel: int) -> None:
    """The solution's own lines run during the import: everything is hidden, sealed and guarded before."""
    job = child.job
    path = os.path.join(job["tree"], job["path"])
    ranges = [(first, last) for first, last in job["ranges"]]
    sys.meta_path.insert(0, Override(path, job["source"]))
    linecache.cache[path] = (len(job["source"]), None, job["source"].splitlines(keepends=True), path)
    blindfold = privileges.build_blindfold(find_blinded(job), job["readable"])
    if blindfold is not None:
        privileges.enforce(blindfold)
    look = take_snapshot([], job["tree"])
    row = open_row(child, channel, look)
    is_mine = recognise(path, ranges)
    arm = guard_modules(find_guarded(find_tests(job)))
    install(make_access_check(is_mine, path, ranges), row["tampered"], find_hidden(job), arm)
    unload_harness_modules(list_harness_modules())
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
    return [os.getppid(), *above, server.find_group(above[-1])]


CROSS_RUN = server.Servers(serve_in_place, serve_imported)
