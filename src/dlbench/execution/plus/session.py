"""Talk to a process that answers calls of a target, and record the calls that tests make.

Messages stay plain data here: nothing that a project or a candidate wrote is made into objects.
"""

import contextlib
import contextvars
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dlbench.execution.inside.plain_values import Unreplayable
from dlbench.execution.inside.remote import Peer
from dlbench.execution.plus.compare import Answer
from dlbench.execution.plus.nodes import Data, Node
from dlbench.execution.supervise import Observation

Run = Callable[[socket.socket], Observation]
"""Runs a process that answers calls over this connection."""
_MOST_BYTES = 1 << 24
"""Of an answer; chosen inputs have answers of 256 KiB at most."""


class RawCodec:
    """Passes messages on as they are: the node, the changed objects and the bytes."""

    make_proxy: Callable[[int], Any]

    def reset(self) -> None: ...

    def write(self, value: Any) -> Any:  # noqa: ANN401
        return value

    def read(self, *message: Any, is_last: bool = False) -> Any:  # noqa: ANN401
        return message


def open_peer(connection: socket.socket, most_bytes: int = 1 << 30) -> Peer:
    return Peer(connection.fileno(), RawCodec(), most_bytes=most_bytes)  # type: ignore[arg-type]  # it has what is used


@contextlib.contextmanager
def connect(run: Run, most_bytes: int = 1 << 30) -> Iterator[Peer]:
    """A peer of the process, which ends with the context. An error of it is raised."""
    ours, theirs = socket.socketpair()
    failures: list[BaseException] = []

    def serve() -> None:
        try:
            run(theirs)
        except BaseException as error:
            failures.append(error)
        finally:
            theirs.close()

    thread = threading.Thread(target=contextvars.copy_context().run, args=[serve])
    thread.start()
    try:
        yield open_peer(ours, most_bytes)
    finally:
        ours.close()
        thread.join()
        if failures:
            raise failures[0]


def ask_all(run: Run, calls: Sequence[tuple[Data, int]], seconds: float = math.inf) -> list[Answer]:
    """The answers to calls, each a pair of arguments and the seed of random numbers, as long as the process lives.
    `seconds`: after which no more are asked."""
    answers: list[Answer] = []
    deadline = time.monotonic() + seconds
    with connect(run, _MOST_BYTES) as peer:
        for data, seed in calls:
            began = time.monotonic()
            answers.append(replace(ask(peer, data, seed), seconds=time.monotonic() - began))
            if answers[-1].has_ended or time.monotonic() > deadline:
                break
    return answers + [Answer.none()] * (len(calls) - len(answers))


def ask(peer: Peer, data: Data, seed: int) -> Answer:
    """The answer to one call. Whatever the process sends, nothing fails here."""
    node = ["tuple", [*data.node[1], seed]]
    try:
        peer.send("call", (node, [], data.blobs))
        kind, (found, changed, blobs) = peer.receive()
        if kind != "result":
            return Answer.none("it calls back")
        answer = Answer(Data(found, blobs), changed)
        return replace(answer, gradients=_ask_gradients(peer, data, answer))
    except Unreplayable as error:
        return Answer.none(f"cannot be sent as data: {error}")
    except (EOFError, OSError):
        return Answer.none(has_ended=True)
    except Exception as error:
        return Answer.none(f"an answer of another form ({type(error).__name__})")


def _ask_gradients(peer: Peer, data: Data, answer: Answer) -> dict[int, Answer]:
    """Gradients of a result that is a tensor, for a fixed gradient of it, with respect to the arguments."""
    match answer.parts:
        case ["returned", ["new", _, ["tensor", _, str(dtype), list(shape), place, _, _, int(output), inputs, _]], _]:
            size = math.prod(shape)
        case _:
            return {}
    if output < 0 or dtype not in ("float32", "float64"):
        return {}
    if size * np.dtype(dtype).itemsize != len(answer.data.blobs[place]):
        raise ValueError("a tensor of another size")
    weights = np.linspace(0.5, 1.5, size, dtype=dtype).tobytes()
    gradient = ["tensor", "Tensor", dtype, shape, 0, False, None, -1, [], []]
    known = {number: (content, data.blobs) for number, content in data.objects.items()}
    known |= {number: (content, answer.data.blobs) for number, content in answer.objects.items()}
    count = len(known)
    known[count] = gradient, [weights]
    peer.send("gradient", (["tuple", [output, ["new", count, gradient]]], [], [weights]))
    _, (node, _, blobs) = peer.receive()
    match node:
        case ["new", _, ["list", list(items)]]:
            pairs = zip(inputs, items, strict=True)
            return {number: _name_gradient(item, blobs, known) for number, item in pairs if number in data.objects}
    raise ValueError("gradients of another form")


def _name_gradient(item: Node, blobs: list[bytes], known: dict[int, tuple[Node, list[bytes]]]) -> Answer:
    """A gradient on its own; it may be an object that was sent before."""
    match item:
        case ["ref", int(number)]:
            content, blobs = known[number]
            return Answer(Data(["new", number, content], blobs))
    return Answer(Data(item, blobs))


class Recorder:
    """Passes messages between the tests and the process of the target on, and keeps the calls."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self.most, self.most_bytes = most, most_bytes
        self.calls: dict[str, Data] = {}
        """By digest, in the order of the tests."""
        self.refused: dict[str, int] = {}
        """Why calls are not kept, and how many."""

    def relay(self, tests: socket.socket, run: Run) -> None:
        """Serve the tests until they end, or until there are enough calls."""
        asker = open_peer(tests)
        with connect(run) as answerer:
            try:
                while len(self.calls) < self.most:
                    kind, message = asker.receive()
                    plain = self._pass_on(asker, answerer, kind, message)
                    if kind == "call":
                        self._keep(message, plain)
            except (EOFError, OSError):
                pass

    def _pass_on(self, asker: Peer, answerer: Peer, kind: str, message: Any) -> bool:  # noqa: ANN401
        """Whether the answer came without requests back."""
        answerer.send(kind, message)
        source, target, depth, plain = answerer, asker, 1, True
        while depth:
            try:
                kind, message = source.receive()
            except Unreplayable as error:
                target.refuse(str(error))
                return False
            target.send(kind, message)
            is_answer = kind in ("result", "raised")
            plain &= is_answer
            depth += -1 if is_answer else 1
            source, target = target, source
        return plain

    def _keep(self, message: Any, plain: bool) -> None:  # noqa: ANN401
        (_, (arguments, keywords, *_)), _, blobs = message
        data = Data(["tuple", [arguments, keywords]], blobs).without_clock()
        if not plain or data.is_foreign:
            why = "it needs functions or classes of the tests"
        elif data.size > self.most_bytes:
            why = "too large"
        else:
            self.calls[data.digest] = data
            return
        self.refused[why] = self.refused.get(why, 0) + 1
