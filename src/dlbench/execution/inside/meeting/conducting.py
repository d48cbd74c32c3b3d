"""How does one solution meet many checks, none of which can touch the next?

The conductor has taken the solution in and runs nothing of it: for each check it forks, and only the fork runs solution
and check, with a limit of its own. What becomes of it is said on a pipe of this one meeting, under a key of this one
meeting, so that whatever a check or a solution does (leaves, hangs, writes, patches, forks, lies) is said of that
meeting alone. Before the next begins nothing of it is left, no process and no file.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import select
import time
from types import CodeType
from typing import Any

from ..asking import Mine
from ..channel import Send
from ..child import Child
from ..clearing import clear
from ..finding_out import make_tampered
from ..privileges import adopt_orphans
from ..seal import Look
from .attending import attend
from .sweeping import sweep

_STARVED = 3.0
_MOST_BYTES = 1 << 20

Row = dict[str, Any]
"""One solution's: how it speaks (`speak` holds who is meant by it now) and where, its job, and what was sealed."""


def open_row(child: Child, channel: int, look: Look) -> Row:
    speak: list[Send] = [child.send]

    def say(kind: str, **content: Any) -> None:  # noqa: ANN401 - whatever JSON takes
        speak[0](kind, **content)

    tampered, _ = make_tampered(say, child.job["allowed"], learn=False)
    return {"speak": speak, "channel": channel, "job": child.job, "look": look, "tampered": tampered}


def conduct(row: Row, names: dict[str, Any], is_mine: Mine, code: CodeType | None) -> None:
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
