"""Check a passing candidate on more inputs than its tests have, with the reference as the oracle (docs/plus.md).

The inputs are calls that the tests make, and variations of them. A record says which; they are made here once and kept
in the workspace together with the reference's answers. A candidate answers in a process that holds neither.
"""

import contextlib
import hashlib
import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from dlbench.dataset import Instance
from dlbench.dataset.plus import InputKey
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.plus.compare import Answer, find_difference
from dlbench.execution.plus.mutators import vary
from dlbench.execution.plus.nodes import Data, list_places
from dlbench.execution.plus.session import Recorder, Run, ask_all
from dlbench.execution.reference_profile import profile_path
from dlbench.jsonl import write_whole
from dlbench.workspace import Prepared

MOST_CALLS = 48
MOST_BYTES = 1 << 18
_FORMAT = 1
"""Of the kept inputs and answers."""
_PATIENCE, _SLOWER = 10.0, 10.0
_LEAST_SHARE = 0.5
"""Of the recorded inputs that must be the same on this machine."""
Open = Callable[[Candidate, float], Run]
"""Opens a process that answers calls of a candidate within a number of seconds."""
Record = Callable[[Recorder], str]
"""Records the calls that the tests make of the reference; returns why not all of them could be."""


@dataclass(frozen=True)
class Inputs:
    """The inputs of an instance with the reference's answers."""

    keys: tuple[InputKey, ...]
    data: tuple[Data, ...]
    expected: tuple[Answer, ...]
    obstacle: str = ""
    """Why they cannot be used here."""

    @property
    def limit(self) -> float:
        """Seconds for a candidate to answer all of them."""
        return _PATIENCE + _SLOWER * sum(answer.seconds for answer in self.expected)


def check_candidate(
    engine: Engine, prepared: Prepared, instance: Instance, candidate: Candidate, open_process: Open, record: Record
) -> dict[str, Any]:
    """What the verdict says: `plus`, and the smallest input that tells the candidate from the reference."""
    try:
        inputs = load_inputs(engine, prepared, instance, open_process, record)
    except DLBenchError as error:
        inputs = Inputs((), (), (), str(error)[:500])
    if inputs.obstacle:
        return {"plus": "not available", "plus_message": inputs.obstacle}
    calls = [(data, key.seed) for data, key in zip(inputs.data, inputs.keys, strict=True)]
    answers = ask_all(open_process(candidate, inputs.limit), calls)
    differing = [
        (not answer.has_ended and bool(answer.failure), data.size, key, what)
        for data, key, expected, answer in zip(inputs.data, inputs.keys, inputs.expected, answers, strict=True)
        if (what := find_difference(data, expected, answer, key.slack, instance.prompt))
    ]
    if not differing:
        return {"plus": "passed", "plus_inputs": len(answers)}
    # what was not asked after the process ended comes last
    _, _, key, what = min(differing, key=lambda one: one[:2])
    how = f"varied by {key.mutator!r}" if key.mutator else "as the tests make it"
    message = f"{len(differing)} of {len(answers)} inputs; the smallest is call {key.call} {how}: {what}"
    return {"plus": "failed", "plus_inputs": len(answers), "plus_message": message}


def load_inputs(engine: Engine, prepared: Prepared, instance: Instance, open_process: Open, record: Record) -> Inputs:
    """The inputs of the instance's record, made on first use. What cannot be made is tried again next time."""
    plus = engine.plus[instance.id]
    path = profile_path(engine, prepared, instance).with_suffix(".plus")
    mark = hashlib.sha256(json.dumps([_FORMAT, plus.inputs, plus.outputs]).encode()).hexdigest()
    with engine.profile_locks.setdefault(path, Lock()):
        if (kept := _read_kept(path, mark)) is not None:
            return kept
        if path in engine.unavailable_inputs:
            return Inputs((), (), (), engine.unavailable_inputs[path])
        recorder = Recorder(MOST_CALLS, MOST_BYTES)
        obstacle = record(recorder)
        inputs = _make_inputs(engine, prepared, instance, plus.parse(), recorder.calls, open_process)
        if inputs.obstacle:
            engine.unavailable_inputs[path] = f"{inputs.obstacle}{obstacle and f' ({obstacle})'}"
            return replace(inputs, obstacle=engine.unavailable_inputs[path])
        with contextlib.suppress(OSError):  # on a full disk they are made again next time
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, pickle.dumps((mark, inputs)))
        return inputs


def _read_kept(path: Path, mark: str) -> Inputs | None:
    """None if there is no file of ours for this record."""
    with contextlib.suppress(Exception):  # of another version
        found, inputs = pickle.loads(path.read_bytes())
        return inputs if found == mark else None
    return None


def _make_inputs(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    keys: Sequence[InputKey],
    recorded: dict[str, Data],
    open_process: Open,
) -> Inputs:
    others = list(recorded.values())
    made = [(key, make_input(key.call, key.mutator, key.seed, recorded, others)) for key in keys]
    same = [(key, data) for key, data in made if data is not None and data.digest == key.digest]
    if len(same) < _LEAST_SHARE * len(keys):
        return Inputs((), (), (), f"only {len(same)} of {len(keys)} inputs are the same on this machine")
    target = engine.target(prepared, instance)
    calls = [(data, key.seed) for key, data in same]
    answers = ask_all(open_process(target.read(target.target.text), engine.limits.test_seconds), calls)
    kept = [(key, data, answer) for (key, data), answer in zip(same, answers, strict=True) if not answer.failure]
    if len(kept) < _LEAST_SHARE * len(keys):
        return Inputs((), (), (), f"the reference answers only {len(kept)} of {len(keys)} inputs on this machine")
    every, data, expected = zip(*kept, strict=True)
    if len(kept) == len(keys) and describe_answers(expected) != engine.plus[instance.id].outputs:
        return Inputs((), (), (), "the reference answers other types or shapes on this machine")
    return Inputs(every, data, expected)


def make_input(call: str, mutator: str, seed: int, recorded: dict[str, Data], others: Sequence[Data]) -> Data | None:
    """The recorded call itself, or a variation of it; None if there is none."""
    if call not in recorded:
        return None
    return vary(mutator, recorded[call], others, seed) if mutator else recorded[call]


def describe_answers(answers: Sequence[Answer]) -> str:
    """A digest of the kinds, types and shapes of answers, which do not depend on the machine's arithmetic."""
    total = hashlib.sha256()
    for answer in answers:
        for holder, index in list_places([answer.data.node], 0):
            match holder[index]:
                case ["new", _, ["array" | "tensor" as kind, *rest]]:
                    total.update(f"{kind} {rest[:3] if kind == 'tensor' else rest[:2]}".encode())
                case [str(tag), *_]:
                    total.update(tag.encode())
    return total.hexdigest()[:10]
