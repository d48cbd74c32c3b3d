"""Answer calls in one forked process each, whose processor time the engine reads from outside.

The server holds the release and warms its libraries up with the reference; it never runs a candidate. A child imports
the module again from one of two sources, reads its arguments, and waits. The engine reads the clock of the child, lets
it run the function, and reads the clock again when the child waits with the result. No call sees another one.
"""

import contextlib
import gc
import importlib.machinery
import linecache
import os
import platform
import resource
import signal
import struct
import sys
import tracemalloc
from collections.abc import Callable
from types import CodeType
from typing import Any

from .. import privileges
from ..audit import recognise
from ..channel import Job, Send
from ..live_patch import find_functions
from ..plain_data import Codec
from ..plain_values import Unreplayable
from ..remote import Peer, confine
from ..seeding import seed_everything

REFERENCE, CANDIDATE, WARM_UP, PROFILE_REFERENCE, PROFILE_CANDIDATE = b"R", b"C", b"W", b"P", b"Q"
TOKEN = 16
"""Bytes that the engine draws for each child: what one child writes cannot be taken for a message of the next."""
Call = tuple[tuple[Any, ...], dict[str, Any]]
_MOST_SECONDS = 90
_STARTING = {"x86_64": (56, (57, 58, 59, 322)), "aarch64": (220, (221, 281))}
"""clone; fork, vfork, execve and execveat."""
_CLONE_THREAD = 0x10000


def serve_timed(send: Send, job: Job) -> None:
    """Serve requests until the engine closes the connection."""
    path = os.path.join(job["tree"], job["path"])
    confine(job)
    importlib.import_module(job["module"])
    for name in job["imports"]:  # of libraries; a call does not pay for them
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    codes = [compile(source, path, "exec", dont_inherit=True) for source in job["sources"]]
    privileges.make_undumpable()
    _use_one_thread()
    send("collected", tests=[], errors=[])
    descriptor = job["calls"]
    while request := _read(descriptor, 1 + TOKEN):
        kind, token = request[:1], request[1:]
        if kind == WARM_UP:
            message = Peer(descriptor, Codec(is_trusted=None)).receive()
            with contextlib.suppress(Exception):  # then the first call is slower
                _warm_up(job, path, message)
            _write(descriptor, token)
            gc.collect()
            gc.freeze()
            continue
        child = os.fork()
        if not child:
            _serve_child(descriptor, job, path, codes, kind, token)
        if os.waitpid(child, 0)[1] != signal.SIGKILL:  # it ended by itself, and the engine waits for it
            _write(descriptor, bytes(TOKEN))
    os._exit(0)


def _use_one_thread() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    if "cv2" in sys.modules:
        sys.modules["cv2"].setNumThreads(1)


def _warm_up(job: Job, path: str, message: tuple[str, Any]) -> None:
    """Run the reference, so that what libraries set up on first use is not part of a measurement."""
    _, (_, *calls) = message
    function = _find(job, path, [job["lines"]])
    for arguments, keywords in calls:
        function(*arguments, **keywords)


def _find(job: Job, path: str, ranges: list[list[int]]) -> Callable[..., Any]:
    is_ours = recognise({path: [(first, last) for first, last in ranges]})[0]
    return find_functions(job["module"], job["qualname"], is_ours)[0]


def _take_code(path: str, source: str, code: CodeType) -> None:
    """Make an import of the file take this code."""
    kind: Any = importlib.machinery.SourceFileLoader
    original = kind.get_code
    kind.get_code = lambda self, name: code if self.path == path else original(self, name)
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)


def _serve_child(descriptor: int, job: Job, path: str, codes: list[CodeType], kind: bytes, token: bytes) -> None:
    """Import, read the arguments, wait, run, wait, answer. Never returns."""
    leave, write, read, process = os._exit, _write, _read, os.getpid()
    own = 1 if kind in (CANDIDATE, PROFILE_CANDIDATE) else 0
    try:
        gc.disable()  # collections count within the call only, and there only for what it makes
        privileges.protect([os.getppid()])
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
        _forbid_processes()
        _take_code(path, job["sources"][own], codes[own])
        del sys.modules[job["module"]]
        importlib.import_module(job["module"])
        function = _find(job, path, job["ranges"][own])
        codec = Codec(is_trusted=None)
        codec.is_compared = True
        peer = Peer(descriptor, codec)
        _, (seed, *calls) = peer.receive()
        seed_everything(seed)
        answer: Any
        if kind in (PROFILE_REFERENCE, PROFILE_CANDIDATE):
            answer = profile(function, calls)
        else:
            gc.freeze()
            write(descriptor, token)
            read(descriptor, 1)
            gc.enable()
            try:
                answer = "returned", [function(*arguments, **keywords) for arguments, keywords in calls], False, []
            except Exception as error:
                answer = "raised", error, False, []
            write(descriptor, token)
            read(descriptor, 1)
            gc.disable()
        try:
            peer.send(token.hex(), answer)
        except Unreplayable as error:
            peer.refuse(str(error))
        read(descriptor, 1)
        os.kill(process, signal.SIGKILL)
    finally:
        leave(0)


def _write(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data)


def _read(descriptor: int, size: int) -> bytes:
    """As many bytes; none at the end."""
    data = b""
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            return b""
        data += part
    return data


def _forbid_processes() -> None:
    """Deny this process others, whose time would not be counted. Threads are counted."""
    clone, denied = _STARTING[platform.machine()]

    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_true, if_false, value)

    load, equal, any_bit, leave, deny, allow = 0x20, 0x15, 0x45, 0x06, 0x00050001, 0x7FFF0000
    program = [step(load, 0)]
    for number in denied:
        program += [step(equal, number, 0, 1), step(leave, deny)]
    program += [step(equal, clone, 0, 3), step(load, 16), step(any_bit, _CLONE_THREAD, 1, 0), step(leave, deny)]
    privileges._install_filter(b"".join([*program, step(leave, allow)]))


def profile(function: Callable[..., Any], calls: list[Call]) -> dict[str, int]:
    """Peak memory that the calls allocate with Python, numpy and torch; for torch what its operators do."""
    counter = make_counter() if "torch" in sys.modules else None
    peak, stop = tracemalloc.get_traced_memory, tracemalloc.stop
    tracemalloc.start()
    before = peak()[0]
    if counter is None:
        results = [function(*arguments, **keywords) for arguments, keywords in calls]
        found = {"operators": 0, "flops": 0, "bytes": 0, "memory": 0}
    else:
        with counter:
            results = [function(*arguments, **keywords) for arguments, keywords in calls]
        found = dict(counter.found)
    found["memory"] += peak()[1] - before
    stop()
    del results
    return found


def make_counter() -> Any:  # noqa: ANN401 - torch is imported here only
    """A dispatch mode that counts operators, floating-point operations, bytes of operands, and the peak of memory."""
    load: Any = importlib.import_module
    Tensor, StorageWeakRef = sys.modules["torch"].Tensor, load("torch.multiprocessing.reductions").StorageWeakRef
    flop_registry = load("torch.utils.flop_counter").flop_registry
    tree_leaves = load("torch.utils._pytree").tree_leaves

    class Counter(load("torch.utils._python_dispatch").TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.found = {"operators": 0, "flops": 0, "bytes": 0, "memory": 0}
            self.live: dict[int, tuple[Any, int]] = {}

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
            given = [one for one in tree_leaves([args, kwargs]) if isinstance(one, Tensor)]
            known = {one.untyped_storage()._cdata for one in given}
            result = func(*args, **kwargs or {})
            made = [one for one in tree_leaves(result) if isinstance(one, Tensor)]
            self.found["operators"] += 1
            self.found["bytes"] += sum(one.numel() * one.element_size() for one in [*given, *made])
            if count := flop_registry.get(func._overloadpacket):
                self.found["flops"] += count(*args, **kwargs or {}, out_val=result)
            self.live = {key: one for key, one in self.live.items() if not one[0].expired()}
            for one in made:
                storage = one.untyped_storage()
                if storage._cdata not in known:
                    self.live[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
            self.found["memory"] = max(self.found["memory"], sum(size for _, size in self.live.values()))
            return result

    return Counter()
