"""Send messages to the engine: the keyed result channel and the control socket of a warm worker.

On the result channel every line carries a number and a keyed hash, so that a line that a candidate writes there is
recognised as forged. The channel is bound to the process that opened it: a candidate that forks and returns twice is
heard once. Processes that use the control socket never run a candidate's code.
"""

import hmac
import json
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

Send = Callable[..., None]
Job = dict[str, Any]
"""What the engine asks for; the keys are those of `execution/launch.py`."""
OUTCOMES = ("passed", "skipped", "failed", "error")
"""Of a test, by rank; the worst of its reports counts."""
_PASSED, _FAILED = OUTCOMES.index("passed"), OUTCOMES.index("failed")
CONTROL_BEFORE, CONTROL_AFTER = (_PASSED, _FAILED), (_FAILED, _FAILED, _FAILED)
"""The outcomes of the control tests, in their order. The engine checks them."""
_HEADER = struct.Struct("=Q")


def open_channel(descriptor: int, secret: bytes) -> Send:
    """Return a function that sends one message: its kind, and content that JSON can hold."""
    os.set_inheritable(descriptor, False)
    # the hash object keeps the key in C; no Python object that a candidate could read holds it
    keyed = hmac.new(secret, digestmod="sha256")
    count = 0
    process = os.getpid()
    write, getpid, leave, dumps = os.write, os.getpid, os._exit, json.dumps

    def send(kind: str, **content: Any) -> None:  # noqa: ANN401 - whatever JSON takes
        nonlocal count
        if getpid() != process:
            leave(0)
        count += 1
        body = dumps({"n": count, "kind": kind, **content}).encode()
        mac = keyed.copy()
        mac.update(body)
        line = mac.hexdigest().encode() + b" " + body + b"\n"
        while line:
            line = line[write(descriptor, line) :]

    return send


def send_message(control: socket.socket, **content: Any) -> None:  # noqa: ANN401 - whatever JSON takes
    control.sendall(json.dumps(content).encode() + b"\n")


def receive(control: socket.socket) -> tuple[Job, list[int]]:
    """Receive one message and the descriptors sent with it. If the engine has closed the socket, this process ends."""
    header, descriptors, _, _ = socket.recv_fds(control, _HEADER.size, 8, socket.MSG_WAITALL)
    length = _HEADER.unpack(header)[0] if header else os._exit(0)
    body = bytearray()
    while len(body) < length:
        data = control.recv(min(1 << 16, length - len(body)))
        if not data:
            os._exit(0)
        body += data
    return json.loads(bytes(body)), descriptors
