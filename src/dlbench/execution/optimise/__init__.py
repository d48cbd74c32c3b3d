"""Measure the cost of a candidate that passes, side by side with the reference, on inputs of several sizes.

docs/optimise.md says what is measured and why. Inputs come from fresh seeds, so that none was seen before; each answer
that is measured must be right.
"""

import contextlib
import hashlib
import pickle
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any

from dlbench.dataset import Instance
from dlbench.dataset.optimise import HELD_OUT, SIZES, SMALL, Size, Workload
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.optimise.family import Family, Run, open_family
from dlbench.execution.optimise.ratio import Ratio, estimate, is_known
from dlbench.execution.optimise.scale import CannotGrow, grow, join
from dlbench.execution.plus import MOST_BYTES, MOST_CALLS
from dlbench.execution.plus.compare import find_difference
from dlbench.execution.plus.nodes import Data
from dlbench.execution.plus.session import Recorder
from dlbench.execution.reference_profile import profile_path
from dlbench.jsonl import write_whole
from dlbench.workspace import Prepared

_SEED_BITS = 31
_CONTRADICTION = 1.5
Record = Callable[[Recorder], str]
"""Records the calls that the tests make of the reference; returns why not all of them could be."""
_measuring = Lock()
"""Two measurements at once would disturb each other."""


@dataclass(frozen=True)
class Effort:
    """Rounds of the sizes that decide, until the interval is narrow enough, and of the others."""

    least: int = 8
    most: int = 48
    others: int = 6


FULL = Effort()


class CannotMeasure(Exception):
    """The costs cannot be compared here."""


class WrongAnswer(Exception):
    """The candidate answers something else than the reference, or not at all."""


@dataclass(frozen=True)
class Cost:
    """Of a candidate, relative to the reference."""

    sizes: dict[str, Ratio]
    """Speed-ups by size."""
    memory: float | None
    """Peak memory as a share of the reference's; None if the code could change the figure."""
    counts: dict[str, float]
    """What torch's operators do, as shares of the reference's."""
    seed: int

    @property
    def speedup(self) -> float:
        """At the held-out size; a slowdown on inputs of the recorded size is multiplied in."""
        small = self.sizes[SMALL]
        return self.sizes[HELD_OUT].value * (small.value if small.high < 1 else 1.0)

    @property
    def contradiction(self) -> str:
        """Where processor time and what is counted tell different stories."""
        speedup = self.sizes[HELD_OUT].value
        for name, share in self.counts.items():
            if share > 0 and not 1 / _CONTRADICTION <= speedup * share <= _CONTRADICTION:
                return f"{speedup:.2f} times as fast, with {share:.2f} times the {name}"
        return ""

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = {"speedup": round(self.speedup, 4), "memory_ratio": self.memory, "seed": self.seed}
        found["sizes"] = {name: asdict(one) for name, one in self.sizes.items()}
        found |= {"counts": self.counts} if self.counts else {}
        return found | ({"contradiction": self.contradiction} if self.contradiction else {})


def check_cost(
    engine: Engine, prepared: Prepared, instance: Instance, candidate: Candidate, record: Record
) -> dict[str, Any]:
    """What the verdict says of the cost: `cost` is measured, wrong or not available."""
    try:
        call = load_call(engine, prepared, instance, record)
        found = measure(engine, prepared, instance, candidate, call)
    except WrongAnswer as error:
        return {"cost": "wrong", "cost_message": str(error)[:500], "speedup": 0.0}
    except (CannotMeasure, CannotGrow) as error:
        return {"cost": "not available", "cost_message": str(error)[:500]}
    return {"cost": "measured", **found.describe()}


def load_call(engine: Engine, prepared: Prepared, instance: Instance, record: Record) -> Data:
    """The recorded call that inputs are made from, recorded on first use."""
    digest = engine.workloads[instance.id].call
    path = profile_path(engine, prepared, instance).with_suffix(".call")
    with engine.profile_locks.setdefault(path, Lock()):
        with contextlib.suppress(Exception):  # of another version, or not there
            data = pickle.loads(path.read_bytes())
            if data.digest == digest:
                return data  # type: ignore[no-any-return]
        recorder = Recorder(MOST_CALLS, MOST_BYTES)
        obstacle = record(recorder)
        if digest not in recorder.calls:
            raise CannotMeasure(f"the tests do not make the recorded call on this machine {obstacle}".strip())
        with contextlib.suppress(OSError):  # on a full disk it is recorded again next time
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, pickle.dumps(recorder.calls[digest]))
        return recorder.calls[digest]


def make_message(call: Data, workload: Workload, size: Size, seed: int) -> Data:
    """The calls of one measurement, each with its own input."""
    seeds = (int(hashlib.sha256(f"{seed} {place}".encode()).hexdigest()[:8], 16) for place in range(size.calls))
    return join([grow(call, workload.growing, size.factor, one) for one in seeds], seed % (1 << _SEED_BITS))


def measure(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    candidate: Candidate,
    call: Data,
    seed: int | None = None,
    effort: Effort = FULL,
) -> Cost:
    """Raises WrongAnswer and CannotMeasure. `seed`: to repeat a measurement; a new one by default."""
    workload = engine.workloads[instance.id]
    seed = secrets.randbits(_SEED_BITS) if seed is None else seed
    with _measuring, open_family(engine, prepared, instance, candidate) as family:
        family.warm_up(join([call, call], 0))
        sizes = {}
        for place, name in enumerate(SIZES):
            own = f"{seed} {place}"
            sizes[name] = _measure_size(family, call, workload, name, own, effort)
        message = make_message(call, workload, workload.sizes[HELD_OUT], seed)
        ours = family.profile(message, is_candidate=False)
        theirs = family.profile(message, is_candidate=True) if ours else None
    if not ours or not theirs or candidate.excess:  # code that is not ordinary could stop the counting
        return Cost(sizes, None, {}, seed)
    shares = {name: round(theirs[name] / one, 4) for name, one in ours.items() if one}
    return Cost(sizes, shares.pop("memory", None), shares, seed)


def _measure_size(family: Family, call: Data, workload: Workload, name: str, seed: str, effort: Effort) -> Ratio:
    """Rounds of both sides on one new input, in a random order."""
    deciding = name in (SMALL, HELD_OUT)
    ours: list[Run] = []
    theirs: list[Run] = []
    while len(ours) < (effort.most if deciding else effort.others):
        own = int(hashlib.sha256(f"{seed} {len(ours)}".encode()).hexdigest()[:7], 16)
        message = make_message(call, workload, workload.sizes[name], own)
        order = (False, True) if own % 2 else (True, False)
        found = {}
        for is_candidate in order:
            found[is_candidate] = run = family.run(message, is_candidate=is_candidate)
            if run.answer.failure and is_candidate:
                raise WrongAnswer(f"size {name}: {run.answer.failure}")
            if run.answer.failure:
                raise CannotMeasure(f"the reference at size {name}: {run.answer.failure}")
        what = find_difference(message, found[False].answer, found[True].answer, workload.slack)
        if what:
            raise WrongAnswer(f"size {name}: {what}")
        ours.append(found[False])
        theirs.append(found[True])
        if deciding and len(ours) >= effort.least and is_known(estimate(ours, theirs)):
            break
    return estimate(ours, theirs)
