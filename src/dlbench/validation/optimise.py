"""Check that the reference against itself shows no speed-up, on every workload of the optimise track."""

from dataclasses import dataclass
from functools import partial

from dlbench.dataset import Instance
from dlbench.dataset.optimise import HELD_OUT, SMALL
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm
from dlbench.execution.optimise import CannotMeasure, WrongAnswer, load_call, measure
from dlbench.execution.optimise.scale import CannotGrow
from dlbench.execution.pool import TaskPool
from dlbench.execution.worker_cache import CachePolicy
from dlbench.workspace import Prepared

TOLERANCE = 0.03


@dataclass(frozen=True)
class CostTrial:
    instance: Instance


@dataclass(frozen=True)
class CostFinding:
    instance: str
    speedups: dict[str, float]
    fault: str = ""

    @property
    def holds(self) -> bool:
        return not self.fault and all(abs(one - 1) <= TOLERANCE for one in self.speedups.values())


def open_pool(engine: Engine, prepared: dict[str, Prepared]) -> TaskPool[CostTrial, Warm, CostFinding]:
    return TaskPool(engine, prepared, 1, CachePolicy(Warm, 6144.0), try_reference, report_fault)


def report_fault(trial: CostTrial, fault: str) -> CostFinding:
    return CostFinding(trial.instance.id, {}, fault)


def try_reference(warm: Warm, trial: CostTrial) -> CostFinding:
    instance = trial.instance
    try:
        call = load_call(warm.engine, warm.prepared, instance, partial(warm.record_calls, instance))
        reference = warm.engine.target(warm.prepared, instance).reference
        found = measure(warm.engine, warm.prepared, instance, reference, call)
    except (CannotMeasure, WrongAnswer, CannotGrow) as error:
        return report_fault(trial, str(error))
    return CostFinding(instance.id, {name: found.sizes[name].value for name in (SMALL, HELD_OUT)})
