"""Run one solution against many checks, each in a process of its own, so that no check can affect another.

The project's tests are not collected, and nothing here can read them. For each solution a server forks a conductor,
which takes in the solution. For each check the conductor forks a process with a time limit, a result channel and a key
of its own. What a check or a solution does (exit, hang, write, patch, fork, lie) is reported for that check alone.
"""

import contextlib
import hashlib
import hmac
import importlib
import json
import os
import select
import socket
import sys
import time
import types
from opcode import opname
from typing import Any

import pytest

from .. import server
from ..audit import guard_modules, list_harness_modules
from ..channel import Job, open_channel
from ..child import Child, empty_folders, end_child
from ..control_tests import THOROUGH
from ..fresh_run import list_hidden_from_all, list_test_files
from ..integrity import FindReplaced, check, take_snapshot
from ..live_patch import Called, override_source
from ..privileges import adopt_orphans, build_ruleset, die_with_parent, protect, set_limits
from ..return_values import watch
from ..seeding import seed_everything
from .tracing import waited_seconds

_MOST_CALLS = 4
_MOST_BYTES = 1 << 20
_STARVED = 3.0
"""A check gets at most this many times its seconds on a busy machine."""
_MOST = 64
_DEEPEST = 4
_LONGEST = 200
_LEAVES = 512
"""Numbers and pieces of text of one description; about ten kilobytes. A longer line would cost other checks theirs."""


def serve_in_place(control: socket.socket, job: Job, called: Called) -> None:
    """Serve an instance whose solutions are patched into the imported module."""
    override = server.hide_target(job, called)
    server.import_modules(job["own"])
    importlib.import_module(job["module"])
    target = server.open_target(control, job, override, _warm_up)

    def run(child: Child) -> None:
        target.take_in(child, forks=True)
        _run_checks(child, target.names, target.function.__code__, target.find_replaced)

    server.serve_children(control, job, run)


def serve_imported(control: socket.socket, job: Job) -> None:
    """Serve an instance whose solutions must be imported. The server holds nothing of the project."""
    _warm_up()
    server.forbid_backends()
    server.report_open(control)
    server.serve_children(control, job, _import_and_run)


def _import_and_run(child: Child) -> None:
    """Import the solution. Its lines run meanwhile, so the process is confined and guarded before."""
    job = child.job
    path = os.path.join(job["tree"], job["path"])
    override_source(path, job["source"])
    child.prepare(build_ruleset(list_hidden_from_all(job), job["readable"]), forks=True)
    find_replaced = take_snapshot([], job["tree"])
    activate = guard_modules(list_test_files(job))
    child.guard(path, [(first, last) for first, last in job["ranges"]], activate, list_harness_modules())
    child.send("started")
    try:
        module = importlib.import_module(job["module"])
    except BaseException as error:
        child.send("broken", why=f"{type(error).__name__}: {error}"[:500])
        os._exit(0)
    check(find_replaced, child.tampered)
    child.send("collected")  # the time of the checks begins
    target: Any = module
    for part in job["qualname"].split("."):
        target = getattr(target, part, None)
    code = getattr(getattr(target, "__func__", target), "__code__", None)
    _run_checks(child, module.__dict__, code, find_replaced)


def _warm_up() -> None:
    """Make the first comparison in the server: `torch.testing.assert_close` imports for seconds at its first call."""
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


def _run_checks(child: Child, names: dict[str, Any], code: types.CodeType | None, find_replaced: FindReplaced) -> None:
    """Run every check in its order and send the result of each; then the process ends."""
    adopt_orphans()
    job, send, conductor = child.job, child.send, os.getpid()
    for place, source in enumerate(job["checks"]):
        reading, writing = os.pipe()
        secret = os.urandom(32)
        began = time.monotonic()
        process = os.fork()
        if process == 0:
            os.close(reading)
            with contextlib.suppress(BaseException):
                die_with_parent()
                os.setsid()
                os.close(child.channel)  # a line written there would count for all checks
                child.send = open_channel(writing, secret)
                protect([conductor])
                _run_check(child, source, names, code, find_replaced)
            os._exit(1)
        os.close(writing)
        data, is_late = _await_result(process, reading, job["seconds_each"])
        seconds = time.monotonic() - began
        os.close(reading)
        status, _ = end_child(process, is_scoped=child.is_scoped)
        empty_folders(job["folders"])
        result = _parse_result(data, secret)
        if result is None:
            outcome = "timeout" if is_late else "tampered" if data else "crashed"
            result = {"outcome": outcome, "message": "" if is_late else f"exit code {status}"}
        elif result["kind"] == "tampered":
            result = {"outcome": "tampered", "message": result["why"]}
        send(
            "check",
            place=place,
            outcome=result["outcome"],
            message=str(result.get("message", ""))[:300],
            outputs=result.get("outputs", []),
            seconds=round(seconds, 4),
        )
    send("end")
    os._exit(0)


def _await_result(process: int, channel: int, seconds: float) -> tuple[bytes, bool]:
    """Read what a check sends until it ends; return it, and whether the check took too long."""
    ended = os.pidfd_open(process)
    began = time.monotonic()
    data = b""
    waiting = [ended, channel]
    try:
        while True:
            left = began + seconds - time.monotonic()
            ready, _, _ = select.select(waiting, [], [], min(max(left, 0.01), 1.0))
            if channel in ready:
                new = os.read(channel, 1 << 16)
                data = (data + new)[:_MOST_BYTES]
                if not new or (ended in ready and len(data) == _MOST_BYTES):
                    waiting.remove(channel)
            elif ended in ready:
                return data, False
            passed = time.monotonic() - began
            is_late = passed > seconds and (passed > _STARVED * seconds or passed - waited_seconds(process) > seconds)
            if is_late and ended not in ready:
                return b"", True
    finally:
        os.close(ended)


def _parse_result(data: bytes, secret: bytes) -> dict[str, Any] | None:
    """The first message, if it is authentic; later ones are ignored."""
    mac, _, body = data.partition(b"\n")[0].partition(b" ")
    if not hmac.compare_digest(mac, hmac.new(secret, body, hashlib.sha256).hexdigest().encode()):
        return None
    message = json.loads(body)
    return message if isinstance(message, dict) else None


def _run_check(
    child: Child, source: str, names: dict[str, Any], code: types.CodeType | None, find_replaced: FindReplaced
) -> None:
    """Run one check and send its result; then the process ends. A solution that does more than compute is watched, as
    the judge does."""
    job, send, leave = child.job, child.send, os._exit
    set_limits({"RLIMIT_CPU": int(3 * job["seconds_each"]) + 2})
    seed_everything()
    module = types.ModuleType("check")
    module.__dict__.update({name: value for name, value in names.items() if not name.startswith("__")})
    sys.modules["check"] = module
    outputs: list[Any] = []
    if job["watch"]:
        watch(child.is_candidate, names, job["classes"], find_replaced, child.tampered, lambda what: None)
    elif job["outputs"] and code is not None:
        _collect_outputs(code, outputs)
    outcome, message = _execute(source, module.__dict__)
    sys.setprofile(None)
    if outcome == "passed" and job["watch"]:
        check(find_replaced, child.tampered, quickly=True)
        try:
            THOROUGH["test_wrong_comparisons"]()
        except AssertionError:
            pass
        else:
            child.tampered("a comparison that must fail did not")
    send("result", outcome=outcome, message=message, outputs=outputs)
    leave(0)


def _execute(source: str, names: dict[str, Any]) -> tuple[str, str]:
    try:
        exec(compile(source, "<check>", "exec", dont_inherit=True), names)
        return "passed", ""
    except BaseException as error:
        outcome = "failed" if isinstance(error, AssertionError | pytest.fail.Exception) else "error"
        try:
            return outcome, f"{type(error).__name__}: {error}"[:300]
        except BaseException:
            return outcome, type(error).__name__


def _collect_outputs(code: types.CodeType, outputs: list[Any]) -> None:
    """Describe what the target returns in its first calls. The frame of a call that raises returns None, too."""

    def profile(frame: types.FrameType, event: str, value: Any) -> None:  # noqa: ANN401 - any return value
        if event == "return" and frame.f_code is code and len(outputs) < _MOST_CALLS:
            is_return = opname[frame.f_code.co_code[frame.f_lasti]].startswith(("RETURN", "YIELD"))
            is_value = value is not None or is_return
            outputs.append(_describe_safely(value, 0, [_LEAVES]) if is_value else {"raised": True})

    sys.setprofile(profile)


def _describe_safely(value: Any, depth: int, left: list[int]) -> Any:  # noqa: ANN401 - any value, as what JSON has
    """Enough of a value to tell two behaviours apart. What is shortened says so: two values may differ in the rest."""
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
        left[0] -= min(len(value), _LONGEST) // 8
        shown: Any = value[:_LONGEST]
        is_bytes = isinstance(shown, bytes)
        shown = {"bytes": shown.hex()} if is_bytes else shown
        return _mark_cut(shown, "bytes" if is_bytes else "text", len(value), _LONGEST)
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "reshape"):
        return _describe_array(value, shape, left)
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return _mark_cut([_describe_safely(one, depth + 1, left) for one in value[:_MOST]], "list", len(value))
    if depth < _DEEPEST and isinstance(value, set | frozenset):
        shown = sorted((_describe_safely(one, depth + 1, left) for one in value), key=repr)[:_MOST]
        return {"set": shown} | ({"cut": len(value)} if len(value) > _MOST else {})
    if depth < _DEEPEST and isinstance(value, dict):
        found = {}
        for key, one in list(value.items())[:_MOST]:
            name = str(key)[:100]
            left[0] -= len(name) // 8
            found[name] = _describe_safely(one, depth + 1, left)
        return _mark_cut(found, "dict", len(value))
    return {"class": type(value).__name__}


def _describe_array(value: Any, shape: Any, left: list[int]) -> dict[str, Any]:  # noqa: ANN401 - of any library
    flat = (value.detach() if hasattr(value, "detach") else value).reshape(-1)
    size = int(flat.shape[0])
    numbers = flat[:: max(1, -(-size // _MOST))].tolist()
    values = [_describe_safely(one, _DEEPEST, left) for one in numbers]
    return {"shape": [int(one) for one in shape], "values": values} | ({"cut": size} if size > _MOST else {})


def _mark_cut(shown: Any, kind: str, length: int, most: int = _MOST) -> Any:  # noqa: ANN401 - unchanged if complete
    return shown if length <= most else {kind: shown, "cut": length}


CROSS_RUN = server.Servers(serve_in_place, serve_imported)
