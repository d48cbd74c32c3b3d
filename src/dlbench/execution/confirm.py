"""Judge by replay: the tests judge what the candidate returns, in a process that its code never enters.

Two sandboxes run at once and share nothing but a connection. One holds the project's tests and, in place of the target,
a placeholder that sends each call to the other. That one holds the candidate, without tests and reference.
"""

import ast
import contextvars
import socket
import textwrap
import threading
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.engine import Candidate, Engine, TargetInModule
from dlbench.execution.fresh import ATTEMPTS, Doubt, to_status, was_killed
from dlbench.execution.inside.remote import CALL
from dlbench.execution.launch import describe_candidate, describe_instance
from dlbench.execution.limits import DEFAULT, JudgeOptions, Limits
from dlbench.execution.plus.session import Recorder, Run
from dlbench.execution.sandbox import open_cell
from dlbench.execution.supervise import Interrupted, Observation, stop_event, supervise
from dlbench.execution.worker import CannotServe
from dlbench.parsing import parse, unparse
from dlbench.runs.verdict import Status
from dlbench.workspace import Prepared

_PATIENCE = 2
"""Calls between processes take longer than the calls themselves."""
_GRACE_SECONDS = 1.0
_NOTHING = frozenset[str]()
Start = Callable[[Candidate, Limits, Limits], tuple[Run, Run]]
"""Prepares the process of the tests and that of the candidate, each with its limits; each run takes its end of the
connection. Raises CannotServe if the candidate cannot be replayed in this way."""


def replay(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    candidate: Candidate,
    *,
    options: JudgeOptions,
    starts: Sequence[Start] = (),
) -> Observation | Doubt:
    """What is observed if the tests pass on what the candidate returns. `starts`: ways to try before fresh
    interpreters, with `options` that stop at the first failure.

    Whatever prevents it is the fault of the candidate only if the reference can be replayed in the same way.
    """
    limits = options.limit(engine.limits.for_instance(instance))
    narrowed = options.narrow(instance)
    every: list[Start] = [*starts, partial(start_fresh, engine, prepared, instance, options)]
    keys = [f"{instance.id} {len(every) - place} {' '.join(options.tests)}" for place in range(len(every))]
    doubt = Doubt("", is_failure=False)
    for place, (key, start) in enumerate(zip(keys, every, strict=True)):
        if doubt.why and engine.replayable.get(key, _NOTHING) is None:
            continue
        try:
            found = _replay_once(engine, narrowed, candidate, limits, start)
        except CannotServe:
            continue
        odd = _list_odd(found) or _NOTHING
        if isinstance(found, Observation) and not odd:
            return found
        if key not in engine.replayable:
            target = engine.target(prepared, instance)
            reference = _replay_once(engine, narrowed, target.read(target.target.text), limits, start)
            engine.replayable[key] = _list_odd(reference)
            if isinstance(reference, Doubt) and not reference.is_failure and place == len(keys) - 2:
                engine.replayable[keys[-1]] = None  # a fresh import changes nothing of its values
        known = engine.replayable[key]
        if isinstance(found, Observation):
            if known is not None and odd <= known:
                return found
            what = ", ".join(sorted(odd - (known or _NOTHING)))
            found = Doubt(f"its results show what the reference's do not: {what[:500]}", is_failure=True)
        if known is not None:
            return replace(found, is_failure=True)
        doubt = replace(found, is_failure=False)
    return doubt


def _list_odd(found: Observation | Doubt) -> frozenset[str] | None:
    """What is right in replayed results only where the reference does it, too; None if the tests did not pass."""
    if isinstance(found, Doubt):
        return None
    return frozenset(message["what"] for message in found.messages.of_kind("odd"))


def record_calls(
    engine: Engine, prepared: Prepared, instance: Instance, recorder: Recorder, starts: Sequence[Start] = ()
) -> str:
    """Record the calls that the tests make of the reference; return why some are missing. `starts`: as for `replay`."""
    limits = engine.limits.for_instance(instance)
    target = engine.target(prepared, instance)
    reference, obstacle = target.read(target.target.text), ""
    every: list[Start] = [*starts, partial(start_fresh, engine, prepared, instance, DEFAULT)]
    for start in every:
        found = _replay_once(engine, instance, reference, limits, start, recorder)
        if isinstance(found, Observation):
            return ""
        obstacle = found.why
        if recorder.calls:
            break
    return obstacle


def _replay_once(
    engine: Engine,
    instance: Instance,
    candidate: Candidate,
    limits: Limits,
    start: Start,
    recorder: Recorder | None = None,
) -> Observation | Doubt:
    for _ in range(ATTEMPTS):
        observation, *answering = _run_both(candidate, limits, start, recorder)
        if not any(map(was_killed, [observation, *answering])):
            break
    refused = observation.messages.of_kind("unreplayable")
    if refused:
        return Doubt(f"a call cannot be replayed: {refused[0]['why']}", is_failure=False)
    status, message, _ = to_status(observation, instance, engine.confinement, is_replay=True)
    if status is Status.PASS:
        if not observation.messages.of_kind("called"):
            return Doubt("its tests pass without calling it", is_failure=False)
        observation.memory_mb = max(one.memory_mb for one in [observation, *answering])
        return observation
    why = f"its tests do not pass on replayed results ({status}): {message[-500:]}"
    return Doubt(why, is_failure=True, failed=observation if status is Status.FAIL else None)


class _Ending(threading.Event):
    """Also set if another event is."""

    def __init__(self, other: threading.Event | None) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or (self._other is not None and self._other.is_set())


def _run_both(candidate: Candidate, limits: Limits, start: Start, recorder: Recorder | None) -> list[Observation]:
    """What was observed of the tests and, without a recorder, of the candidate."""
    run_tests, answer_calls = start(
        candidate,
        replace(limits, test_seconds=_PATIENCE * limits.test_seconds),
        # it also waits for the other process to import its tests
        replace(limits, test_seconds=limits.load_seconds + _PATIENCE * limits.test_seconds),
    )
    tests, calls = socket.socketpair()
    failures: list[BaseException] = []
    answering: list[Observation] = []
    ending = _Ending(stop_event.get())

    def answer() -> None:
        stop_event.set(ending)
        try:
            if recorder is None:
                answering.append(answer_calls(calls))
            else:
                recorder.relay(calls, answer_calls)
        except Interrupted:
            pass  # the thread of the tests raises it, too, unless they have ended
        except BaseException as error:
            failures.append(error)
        finally:
            calls.close()

    thread = threading.Thread(target=contextvars.copy_context().run, args=[answer])
    thread.start()
    try:
        observation = run_tests(tests)
    finally:
        tests.close()
        thread.join(_GRACE_SECONDS)  # it ends by itself, unless the candidate goes on
        ending.set()
        thread.join()
    if failures:
        raise failures[0]
    return [observation, *answering]


def answer_fresh(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    candidate: Candidate,
    limits: Limits,
    connection: socket.socket,
    *,
    is_compared: bool = False,
) -> Observation:
    """Answer calls of the candidate in a new interpreter in its own sandbox. `is_compared`: for further inputs."""
    job = describe_instance(prepared, instance, hides=True, shows_module=True) | describe_candidate(candidate)
    job |= {"mode": "calls", "is_compared": is_compared}
    return _run_fresh(engine, prepared, instance, candidate.spliced.source, limits, job, connection)


def _run_fresh(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    source: str,
    limits: Limits,
    job: dict[str, Any],
    connection: socket.socket,
) -> Observation:
    with open_cell(prepared, instance.path, source, limits) as cell:
        return supervise(engine.confinement, cell, job | {"calls": connection.fileno()}, connection=connection)


def start_fresh(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    options: JudgeOptions,
    candidate: Candidate,
    tests: Limits,
    calls: Limits,
) -> tuple[Run, Run]:
    """Two new interpreters, each in its own sandbox."""
    asking = describe_instance(prepared, instance, hides=False, shows_module=True)
    asking |= describe_candidate(options=options)
    source = write_module(candidate.target)
    return (
        partial(_run_fresh, engine, prepared, instance, source, tests, asking),
        partial(answer_fresh, engine, prepared, instance, candidate, calls),
    )


def write_call(target: TargetInModule, body: str = "") -> str:
    """The target's header with a body that sends its arguments to the candidate's process, or with another body."""
    arguments = target.target.node.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    positional += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    keywords = [f"{argument.arg!r}: {argument.arg}" for argument in arguments.kwonlyargs]
    keywords += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    call = f"return {CALL}(({''.join(f'{name}, ' for name in positional)}), {{{', '.join(keywords)}}})"
    node = copy(target.target.node)
    node.body = parse(f"def f():\n    {body or call}").body[0].body  # type: ignore[attr-defined]
    return unparse(ast.fix_missing_locations(node))


def write_module(target: TargetInModule, body: str = "") -> str:
    """The module with `write_call` in place of the target."""
    found = target.target
    lines = target.source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    text = textwrap.indent(write_call(target, body), found.indent)
    return "\n".join([*lines[: found.first - 1], text, *lines[found.last :]])
