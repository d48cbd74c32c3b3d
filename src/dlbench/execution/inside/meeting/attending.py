"""What happens in the process in which one solution meets one check?

It gives up the power over its conductor, sets its seeds, runs the check and says what became of it. For solutions that
do more than compute it is looked, as the judge does, whether they hand out values that say yes to everything, or
replaced what checks compare with.
"""

from __future__ import annotations

import os
import sys
import types
from opcode import opname
from typing import Any

import pytest

from ..asking import Mine
from ..canaries import _THOROUGH
from ..channel import open_channel
from ..judge import seed_everything
from ..privileges import protect, set_limits
from ..seal import check as check_seal
from ..values import watch
from .describing import describe

_MOST_CALLS = 4


def attend(
    row: dict[str, Any],
    channel: int,
    secret: bytes,
    conductor: int,
    source: str,
    names: dict[str, Any],
    is_mine: Mine,
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
    check_seal(row["look"], row["tampered"], quickly=True)
    try:
        _THOROUGH["test_wrong_comparisons"]()
    except AssertionError:
        return
    row["tampered"]("a comparison that must fail did not")
