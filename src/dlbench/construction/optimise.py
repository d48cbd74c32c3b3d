"""Propose workloads for functions: inputs grown from recorded calls until the reference takes long enough to measure.

A function is eligible if its recorded calls can grow, its answer follows from its arguments and does not turn on
rounding, and most of a process's time is the call itself. Whether it can be made faster is not asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, inf, log

import numpy as np

from dlbench.dataset import Instance
from dlbench.dataset.optimise import HELD_OUT, SMALL, Size, Workload
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm
from dlbench.execution.optimise import make_message
from dlbench.execution.optimise.family import Family, open_family
from dlbench.execution.optimise.scale import CannotGrow, TooLarge, describe_growth, grow, join, learn_groups
from dlbench.execution.plus import MOST_BYTES, MOST_CALLS
from dlbench.execution.plus.compare import Answer, find_difference, measure_deviation
from dlbench.execution.plus.nodes import Data, list_objects, read_array
from dlbench.execution.plus.session import Recorder
from dlbench.execution.pool import TaskPool
from dlbench.execution.worker_cache import CachePolicy
from dlbench.validation.plus import disturb, widen
from dlbench.workspace import Prepared

_TARGETS = {"medium": 0.05, HELD_OUT: 0.12, "large": 0.25}
"""Seconds of processor time of the reference."""
_LEAST_SECONDS, _MOST_SECONDS, _CLOSE = 0.02, 0.5, 1.5
_MOST_CALLS_TOGETHER = 500
_MOST_BYTES_SENT, _MOST_BYTES_TOGETHER = 48 << 20, 8 << 20
_MOST_BESIDES = 5.0
"""What a process does besides the call, as a multiple of the call."""
_TRIED_CALLS, _TRIED_GROUPS, _STEPS = 3, 6, 8
_SLACK_32, _SLACK_64, _MOST_SLACK_32, _MOST_SLACK_64 = 0.05, 1e-3, 1.0, 0.03
_NOISE = 8.0


@dataclass(frozen=True)
class OptimiseTask:
    instance: Instance


class NotEligible(Exception):
    """Why a function is left out."""


def open_pool(engine: Engine, prepared: dict[str, Prepared]) -> TaskPool[OptimiseTask, Warm, Workload]:
    """One worker: measurements disturb each other."""
    return TaskPool(engine, prepared, 1, CachePolicy(Warm, 6144.0), propose, report_fault)


def report_fault(task: OptimiseTask, fault: str) -> Workload:
    return _refuse(task.instance, f"could not be measured: {fault[:200]}")


def _refuse(instance: Instance, reason: str) -> Workload:
    return Workload(instance=instance.id, reason=reason, made=datetime.now(UTC).date())


def propose(warm: Warm, task: OptimiseTask) -> Workload:
    """The record of an instance, with inputs or with the reason why it has none."""
    instance, recorders = task.instance, [Recorder(MOST_CALLS, MOST_BYTES) for _ in range(2)]
    obstacles = [warm.record_calls(instance, recorder) for recorder in recorders]
    first, second = (recorder.calls for recorder in recorders)
    steady = [data for digest, data in first.items() if digest in second]
    if not steady:
        why = obstacles[0] or "no call of its tests can be recorded" if not first else "its calls differ each time"
        return _refuse(instance, why)
    reference = warm.engine.target(warm.prepared, instance).reference
    why = "no size of its recorded calls can grow"
    ways = list(_list_ways(steady))
    while ways:
        with open_family(warm.engine, warm.prepared, instance, reference) as family:
            while ways and not family.has_failed:
                try:
                    return _Proposal(family, instance, *ways.pop(0)).make()
                except (NotEligible, CannotGrow) as error:
                    why = str(error)
    return _refuse(instance, why)


def _list_ways(steady: Sequence[Data]) -> Iterator[tuple[Data, tuple[str, ...]]]:
    """Large calls first, each with the sets of sizes that may grow: all of them, then each group alone."""
    for call in sorted(steady, key=lambda data: -data.size)[:_TRIED_CALLS]:
        try:
            groups = learn_groups([call, *(data for data in steady if data is not call)])
        except CannotGrow:
            continue
        together = tuple(path for group in groups for path in group)
        ways = list(dict.fromkeys([*([together] if len(groups) > 1 else []), *groups]))
        yield from ((call, way) for way in ways[:_TRIED_GROUPS])


@dataclass
class _Proposal:
    family: Family
    instance: Instance
    call: Data
    growing: tuple[str, ...]

    def make(self) -> Workload:
        self.family.warm_up(join([self.call, self.call], 0))
        once = self._time(1.0)
        sizes: dict[str, Size] = {}
        factor, seconds, exponent = 1.0, once, 1.0
        for name, target in _TARGETS.items():
            factor, seconds, exponent = self._search(target, factor, seconds, exponent)
            shape = describe_growth(grow(self.call, self.growing, factor, 0), self.growing)
            sizes[name] = Size(factor=float(f"{factor:.4g}"), seconds=round(seconds, 4), shape=shape)
        sizes = {SMALL: self._make_small(once)} | sizes
        workload = Workload(
            instance=self.instance.id,
            call=self.call.digest,
            growing=self.growing,
            sizes=sizes,
            made=datetime.now(UTC).date(),
        )
        workload = workload.model_copy(update={"slack": self._find_slack(workload)})
        message = make_message(self.call, workload, sizes[HELD_OUT], 1)
        found = self.family.profile(message, is_candidate=False)
        if not found or not found["memory"]:
            raise NotEligible("its memory cannot be measured")
        return workload.model_copy(update=found)

    def _make_small(self, once: float) -> Size:
        """So many calls that they take long enough together. One alone is slower: the process is new to all of it."""
        most = max(1, min(_MOST_CALLS_TOGETHER, _MOST_BYTES_TOGETHER // max(1, self.call.size)))
        count, seconds = 1, once
        for _ in range(2):
            count = min(most, ceil(count * _LEAST_SECONDS / seconds))
            seconds = self._time(1.0, count)
        shape = describe_growth(self.call, self.growing)
        return Size(factor=1.0, calls=count, seconds=round(seconds, 4), shape=shape)

    def _time(self, factor: float, calls: int = 1) -> float:
        """The reference's seconds; the smaller of two inputs."""
        found = []
        for seed in (1, 2):
            data = join([grow(self.call, self.growing, factor, seed * calls + place) for place in range(calls)], seed)
            if data.size > _MOST_BYTES_SENT:
                raise TooLarge("its inputs grow too large before it takes long enough")
            run = self.family.run(data, is_candidate=False)
            if run.answer.failure or run.answer.parts[:1] != ["returned"]:
                raise NotEligible(f"it does not answer inputs that grow: {run.answer.failure or 'it raises'}"[:200])
            found.append(run)
        best = min(found, key=lambda one: one.seconds)
        if calls == 1 and best.seconds >= _LEAST_SECONDS and best.besides > _MOST_BESIDES * best.seconds:
            raise NotEligible("reading its arguments and answers takes much longer than the call")
        return best.seconds

    def _search(self, target: float, factor: float, seconds: float, exponent: float) -> tuple[float, float, float]:
        """A factor at which the reference takes about this long."""
        limit = inf
        for _ in range(_STEPS):
            if target / _CLOSE <= seconds <= target * _CLOSE:
                return factor, seconds, exponent
            step = float(np.clip((target / seconds) ** (1 / exponent), 1 / 16, 16))
            if factor * step >= limit:
                step = (limit / factor) ** 0.5
            try:
                taken = self._time(factor * step)
            except TooLarge:
                if step < _CLOSE:
                    raise
                limit = factor * step
                continue
            if seconds > 2e-4 and abs(log(step)) > 0.1:
                exponent = float(np.clip(log(taken / seconds) / log(step), 0.3, 4))
            factor, seconds = factor * step, taken
        raise NotEligible("its time does not grow with its inputs")

    def _find_slack(self, workload: Workload) -> float:
        """The tolerance, from what a higher precision and changes in the last digits do to the answer."""
        worst, has_32, has_numbers = 0.0, False, False
        for name, seed in ((SMALL, 3), ("medium", 4), ("medium", 5)):
            message = make_message(self.call, workload, workload.sizes[name], seed)
            expected = self._ask(message)
            again = self._ask(_with_seed(message, seed + 1000))
            if find_difference(message, expected, again, _SLACK_64):
                raise NotEligible("its answer depends on random numbers, or differs each time")
            contents = list_objects(message.node).values()
            arrays = [array for one in contents if (array := read_array(one, message.blobs)) is not None]
            has_32 |= any(array.dtype.name in ("float32", "float16") for array in arrays)
            has_numbers |= any(array.dtype.kind == "f" for array in arrays)
            for change in (widen, disturb):
                changed = message.copy()
                if change(changed):
                    answer = self._ask(changed)
                    if not answer.failure and answer.parts[:1] == ["returned"]:
                        worst = max(worst, measure_deviation(message, expected, answer))
        slack = max(_SLACK_32 if has_32 else _SLACK_64, _NOISE * worst)
        if slack > (_MOST_SLACK_32 if has_32 else _MOST_SLACK_64):
            raise NotEligible("its answer turns on rounding")
        return float(f"{slack:.3g}")

    def _ask(self, message: Data) -> Answer:
        answer = self.family.run(message, is_candidate=False).answer
        if answer.failure or answer.data.has_functions:
            raise NotEligible(f"its answer cannot be compared: {answer.failure or 'it holds functions'}"[:200])
        return answer


def _with_seed(message: Data, seed: int) -> Data:
    return Data(["tuple", [seed, *message.node[1][1:]]], message.blobs)
