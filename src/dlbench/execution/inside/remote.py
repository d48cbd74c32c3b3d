"""Judge a candidate by its data: tests run in one process, the candidate answers their calls in another.

The tests' process holds a placeholder in place of the target. Each call is sent to the candidate's process, which has
neither tests nor reference. It returns what the candidate returned or raised, what it changed in its arguments, its
warnings, and whether it drew random numbers. The tests' process reads that as plain data and never runs its code.
"""

import builtins
import contextlib
import importlib
import json
import os
import random
import struct
import sys
import threading
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NoReturn

from . import privileges
from .audit import IsCandidateCode, recognise
from .channel import Job, Send
from .live_patch import find_functions, override_source
from .plain_data import Codec
from .plain_values import Unreplayable
from .seeding import seed_everything
from .sent_files import ReceivedFiles, collect_files

CALL = "__dlbench_call__"
"""The builtin that the placeholder calls."""
_SIZES = struct.Struct("=QQ")
_MOST_BYTES = 1 << 30
_KEPT_OUTPUTS = 512
_ENDS_ITERATION = (StopIteration, StopAsyncIteration)
"""A loop of a test that meets one ends before its assertions."""
_ENDS_LOOP = (IndexError, *_ENDS_ITERATION)
"""These end one rightly where an object is asked for its parts, but no earlier than for the reference."""


class Peer:
    """One end of the connection. Messages go in turn; while one side waits for an answer, the other may call back."""

    def __init__(
        self,
        descriptor: int,
        codec: Codec,
        give_up: Callable[[str], None] | None = None,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """`give_up`: ends this process when an answer is missing or cannot be read. It must not become an exception of
        the call, which a test may expect."""
        self.descriptor, self.codec, self.give_up, self.most_bytes = descriptor, codec, give_up, most_bytes
        self.lock = threading.RLock()
        self.outputs: dict[int, tuple[Any, list[Any]]] = {}
        self.count = self.requests = 0
        codec.make_proxy = self._make_proxy

    def request(self, kind: str, value: Any) -> Any:  # noqa: ANN401
        """Send a request, serve what the other side asks meanwhile, and return the answer."""
        with self.lock:
            self.requests += 1
            try:
                self.send(kind, value)
                while True:
                    kind, answer = self.receive()
                    if kind in {"result", "raised"}:
                        break
                    self.serve(kind, answer)
            except Exception as error:
                if self.give_up is not None:
                    self.give_up(str(error) or type(error).__name__)
                raise
        if kind == "result":
            return answer
        if self.give_up is not None and isinstance(answer, _ENDS_ITERATION):
            self.give_up("it ends the iteration of its caller")
        if isinstance(answer, IndexError) and _is_indexed(sys._getframe(1)):
            self.codec.note(f"what may end a loop, in request {self.requests}")
        raise answer if isinstance(answer, Exception) else Unreplayable("an exception of another form")

    def serve(self, kind: str, value: Any) -> None:  # noqa: ANN401
        """Answer one request of the other side."""
        if kind == "call_handle":
            number, arguments, keywords = value
            try:
                answer = self.codec.handles[number](*arguments, **keywords)
            except Exception as error:
                self.send("raised", error)
            else:
                self.send("result", answer)
        elif kind == "gradient":
            number, gradient = value
            self.send("result", self._differentiate(number, gradient))
        else:
            raise Unreplayable(f"the request {kind}")

    def send(self, kind: str, value: Any) -> None:  # noqa: ANN401
        node, changed, blobs = self.codec.write(value)
        sizes = list(map(len, blobs))
        head = json.dumps([kind, node, changed, sizes]).encode()
        for part in (_SIZES.pack(len(head), sum(sizes)), head, *blobs):
            view = memoryview(part)
            while view:
                view = view[os.write(self.descriptor, view) :]

    def receive(self) -> tuple[str, Any]:
        head_size, size = _SIZES.unpack(self._read(_SIZES.size))
        if head_size + size > self.most_bytes:
            raise Unreplayable(f"more than {self.most_bytes >> 20} MiB of data in one call")
        kind, node, changed, sizes = json.loads(self._read(head_size))
        if sum(sizes) != size or any(one < 0 for one in sizes):
            raise Unreplayable("bytes of another length than announced")
        blobs = [self._read(one) for one in sizes]
        if kind == "call":
            self.codec.reset()
        if kind == "unreplayable":
            raise Unreplayable(str(node)[:500])
        is_last = self.give_up is not None and kind in {"result", "raised"}
        return kind, self.codec.read(node, changed, blobs, is_last=is_last)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = os.read(self.descriptor, min(1 << 20, size - len(data)))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def refuse(self, why: str) -> None:
        """Tell the other side why this call cannot be replayed."""
        head = json.dumps(["unreplayable", why, [], []]).encode()
        os.write(self.descriptor, _SIZES.pack(len(head), 0) + head)

    def _make_proxy(self, number: int) -> Callable[..., Any]:
        self.codec.is_awaited = True

        def proxy(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401
            return self.request("call_handle", (number, arguments, keywords))

        return proxy

    def note_output(self, tensor: Any, inputs: list[Any]) -> int:  # noqa: ANN401
        self.count += 1
        self.outputs[self.count] = (tensor, inputs)
        self.outputs.pop(self.count - _KEPT_OUTPUTS, None)
        return self.count

    def _differentiate(self, number: int, gradient: Any) -> list[Any]:  # noqa: ANN401
        if number not in self.outputs:
            raise Unreplayable("a gradient of an earlier call")
        output, inputs = self.outputs[number]
        torch = sys.modules["torch"]
        with torch.enable_grad():
            found = torch.autograd.grad(output, inputs, gradient, retain_graph=True, allow_unused=True)
        return list(found)

    def link(self, tensor: Any, number: int, inputs: list[Any]) -> Any:  # noqa: ANN401
        """Let gradients of a received tensor be computed by the side that made it."""
        torch: Any = sys.modules["torch"]
        request, self.codec.is_awaited = self.request, True

        class Remote(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(context: Any, *_: Any) -> Any:  # noqa: ANN401
                return tensor

            @staticmethod
            @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
            def backward(context: Any, gradient: Any) -> Any:  # noqa: ANN401
                return tuple(request("gradient", (number, gradient)))

        with torch.enable_grad():
            return Remote.apply(*inputs)


def install_placeholder_call(descriptor: int, job: Job, send: Send) -> None:
    """Connect the placeholder with the candidate's process. Reports its first call, and why a call cannot be replayed,
    which ends this process."""

    def give_up(why: str) -> NoReturn:
        send("unreplayable", why=why)
        os._exit(0)

    odd = set[str]()

    def note(what: str) -> None:
        if what not in odd:
            odd.add(what)
            send("odd", what=what)

    codec = Codec(is_trusted=_make_project_test(job))
    codec.note = note
    peer = Peer(descriptor, codec, give_up)
    codec.link = peer.link
    is_iterator = job["qualname"].endswith(("__next__", "__anext__"))
    sent: dict[str, Any] = {}
    count = 0

    def call(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:  # noqa: ANN401
        nonlocal sent, count
        with peer.lock:
            count += 1
            if count == 1:
                send("called")
            try:
                files = collect_files([*arguments, *keywords.values()])
            except OSError:
                give_up("a file that the test wrote cannot be read")
            if files is not None:
                peer.request("files", files)
            codec.reset()
            state = _get_state()
            # a generator that the test did not touch goes on in the candidate's process
            is_new, sent = state != sent, state
            answer = peer.request("call", (arguments, keywords, state if is_new else None))
            if not _is_answer(answer):
                give_up("an answer of another form")
            kind, value, drawn, issued = answer
            if kind == "raised" and isinstance(value, _ENDS_ITERATION) and not is_iterator:
                give_up("it ends the iteration of its caller")
            if kind == "raised" and isinstance(value, _ENDS_LOOP) and (is_iterator or _is_indexed(sys._getframe(1))):
                note(f"what may end a loop, in call {count}")
            if drawn:  # not the candidate's state, which could make the tests' random inputs trivial
                _draw()
                sent = _get_state()
        for category, message in issued:
            warnings.warn(message, category, stacklevel=3)
        if kind == "raised":
            raise value
        return value

    setattr(builtins, CALL, call)


def _is_indexed(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name != "__getitem__":
        frame = frame.f_back
    return frame is not None


def _is_answer(answer: Any) -> bool:  # noqa: ANN401
    """Whether it has the form that `_answer` gives it."""
    match answer:
        case ("returned" | "raised" as kind, value, bool(), list(issued)):
            pairs = [one for one in issued if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], type)]
            is_raisable = kind == "returned" or isinstance(value, Exception)
            are_warnings = all(issubclass(category, Warning) and type(text) is str for category, text in pairs)
            return is_raisable and are_warnings and len(pairs) == len(issued)
    return False


def serve_calls(send: Send, job: Job, is_candidate: IsCandidateCode | None = None) -> None:
    """Import the candidate's module and answer calls until the other process ends.

    `is_candidate`: recognises a candidate that was patched in.
    """
    is_candidate = is_candidate or _prepare_import(job)
    send("started")

    def is_private(thing: Any) -> bool:  # noqa: ANN401
        """Whether only this process knows it: a helper of the candidate. The target is known: it has a placeholder."""
        code = getattr(thing, "__code__", None)
        if isinstance(code, CodeType):
            return is_candidate(code) and thing.__qualname__ != job["qualname"]
        return isinstance(thing, type) and thing.__module__ == job["module"] and thing.__name__ in job["classes"]

    codec = Codec(is_trusted=None, is_private=is_private)
    peer = Peer(job["calls"], codec)
    codec.note_output = peer.note_output
    codec.is_compared = job.get("is_compared", False)
    files, obstacle = ReceivedFiles(), ""
    try:
        importlib.import_module(job["module"])
        function = find_functions(job["module"], job["qualname"], is_candidate)[0]  # a decorator of its own, too
    except Exception as error:
        obstacle = f"{type(error).__name__}: {error}"[:500]
    send("collected", tests=[], errors=[])
    own = os.getpid()
    while True:
        try:
            kind, value = peer.receive()
            if kind == "files":
                files.write(*value)
                peer.send("result", None)
                continue
            if kind != "call":
                peer.serve(kind, value)
                continue
            if obstacle:
                raise Unreplayable(obstacle)
            arguments, keywords, state = value
            arguments = tuple(map(files.translate, arguments))
            keywords = {name: files.translate(argument) for name, argument in keywords.items()}
            answer = _answer(function, arguments, keywords, state)
            if os.getpid() != own:  # the candidate forked, and its caller waits in the other process
                os._exit(1)
            peer.send("result", answer)
        except EOFError:
            os._exit(0)
        except Exception as error:  # the tests' process must learn of it; a candidate's own exception is caught below
            peer.refuse(f"{type(error).__name__}: {error}"[:500])


def confine(job: Job) -> None:
    """Import the framework, and close all files but those that the candidate may read."""
    for name in job["framework"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    ruleset = privileges.build_ruleset([os.path.join(job["tree"], name) for name in job["blinded"]], job["readable"])
    if ruleset is not None:
        privileges.enforce(ruleset)


def _prepare_import(job: Job) -> IsCandidateCode:
    path = os.path.join(job["tree"], job["path"])
    if job["source"] is not None:
        override_source(path, job["source"])
    confine(job)
    return recognise({path: [(first, last) for first, last in job["ranges"]]})[0]


def _answer(function: Callable[..., Any], arguments: Any, keywords: Any, state: Any) -> Any:  # noqa: ANN401
    """What the function returned or raised, whether it drew random numbers, and the warnings that it issued.

    `state`: of the random generators, or a seed, after which neither that nor warnings matter."""
    if isinstance(state, int):
        seed_everything(state)
    elif state is not None:
        _set_state(state)
    before = {} if isinstance(state, int) else _get_state()
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        try:
            kind, value = "returned", function(*arguments, **keywords)
        except Exception as error:
            kind, value = "raised", error
    if isinstance(state, int):
        return kind, value, False, []
    return kind, value, _get_state() != before, [(one.category, str(one.message)) for one in issued]


def _get_state() -> dict[str, Any]:
    """The state of what a function may use besides its arguments: random generators, gradient mode, default type."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    state: dict[str, Any] = {"python": random.getstate()}
    if numpy is not None and hasattr(numpy, "random"):
        name, key, *rest = numpy.random.get_state()
        state["numpy"] = (name, key.tolist(), *rest)  # the digests of recorded calls cover this form
    if torch is not None and hasattr(torch, "get_rng_state"):
        state["torch"] = torch.get_rng_state().tolist()
        state["grad"], state["dtype"] = torch.is_grad_enabled(), torch.get_default_dtype()
    return state


def _set_state(state: dict[str, Any]) -> None:
    random.setstate(state["python"])
    if "numpy" in state and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if "torch" in state and "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.set_rng_state(torch.tensor(state["torch"], dtype=torch.uint8))
        torch.set_grad_enabled(state["grad"])
        torch.set_default_dtype(state["dtype"])


def _draw() -> None:
    """Advance the random generators of the tests' process."""
    random.random()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.random_sample()
    if "torch" in sys.modules:
        sys.modules["torch"].rand(1)


def _make_project_test(job: Job) -> Callable[[str], bool]:
    """Tells whether a module belongs to the project and is no test."""
    # the module of the target is hidden where it shows the reference
    hidden = {os.path.join(job["tree"], path) for path in job["hidden"] if path != job["path"]}

    def is_project(name: str) -> bool:
        file = str(getattr(sys.modules.get(name), "__file__", None) or "")
        return file.startswith(job["tree"] + os.sep) and file not in hidden

    return is_project
