"""Measure what Ray costs on one machine, and how three nodes scale.

Judges the same candidates with the local pool and with a Ray on this machine, with as many workers, alternately in one
run; then candidates that mostly wait, and others that compute, on one and on three nodes of one core each (three raylets
on this machine). Rates count from the moment when every worker has given a verdict; start-up is reported apart. The best
of several runs counts. Three computing nodes need three cores to be three times as fast: on a smaller machine only the
figure of waiting candidates shows the overhead of the nodes. Exits with 1 if any verdict differs.
`python perf/ray.py [--project NAME …] [--each N] [--times N]`
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from dlbench.agreement.answers import write_copy
from dlbench.dataset import load
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.pool import Pool, Task
from dlbench.execution.ray_cluster.executor import RayExecutor
from dlbench.validation.mutants import write_mutants
from dlbench.workspace import Prepared, prepare

GOAL_ONE, GOAL_THREE = 0.90, 0.90


@dataclass(frozen=True)
class Measured:
    rate: float
    """Candidates per second, once every worker has given a verdict."""
    start: float
    """Seconds until then."""
    statuses: dict[int, tuple[str, tuple[str, ...]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", action="append", help="only these projects")
    parser.add_argument("--instances", type=int, default=3, help="of each project")
    parser.add_argument("--each", type=int, default=60, help="candidates of an instance")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    # not this folder, where this file would shadow Ray
    sys.path[0] = str(Path(__file__).parent.parent)
    load_average = os.getloadavg()[0]
    print(
        f"{os.cpu_count()} cores, load before the start {load_average:.1f}{' (NOT QUIET)' if load_average > 0.5 else ''}"
    )
    engine = Engine(choose_sandbox(), Limits(test_seconds=20.0, memory_mb=2048))
    agree = compare_on_one_machine(engine, options)
    agree &= compare_nodes(engine, options)
    return 0 if agree else 1


def compare_on_one_machine(engine: Engine, options: argparse.Namespace) -> bool:
    benchmark = load()
    names = options.project or ["albucore", "seqeval"]
    prepared = {name: prepare(benchmark.projects[name], benchmark.root) for name in names}
    tasks: list[Task] = []
    for name in names:
        mine = [instance for instance in benchmark.instances.values() if instance.project == name]
        for instance in mine[: options.instances]:
            tasks += make_tasks(engine, prepared[name], instance, options.each, len(tasks))
    print(f"one machine: {len(tasks)} candidates of {', '.join(names)}, {options.workers} workers", flush=True)
    executor = RayExecutor("local", workers=options.workers, memory_mb=engine.limits.memory_mb)
    try:
        engines = {"local": engine, "ray": replace(engine, executor=executor)}
        found = measure_alternately(engines, prepared, tasks, options.workers, options.times)
    finally:
        executor.close()
    ratio = found["ray"].rate / found["local"].rate
    print(f"Ray on one machine keeps {ratio:.2f} of the local pool's throughput (goal: {GOAL_ONE:.2f} or more)")
    return report_agreement(found)


def compare_nodes(engine: Engine, options: argparse.Namespace) -> bool:
    from tests.conftest import write_toy
    from tests.execution.cluster.nodes import start_cluster
    from tests.reporting.boards import RIGHT, SCALE

    sleeps = RIGHT[SCALE].replace("    if not", "    import time\n    time.sleep(0.2)\n    if not", 1)
    with tempfile.TemporaryDirectory() as folder, start_cluster({}, {}, {}) as nodes:
        toys = load(write_toy(Path(folder)))
        prepared = {"toy": prepare(toys.projects["toy"], toys.root)}
        instance = toys.instances[SCALE]
        waiting = [Task(instance, f"{sleeps}# {number}\n", number) for number in range(options.each)]
        computing = make_tasks(engine, prepared["toy"], instance, 4 * options.each, 0)
        one, three = (RayExecutor(nodes.address, workers=workers) for workers in (1, 3))
        engines = {"one node": replace(engine, executor=one), "three nodes": replace(engine, executor=three)}
        agree = True
        for what, tasks in (("mostly wait", waiting), ("compute", computing)):
            print(f"nodes of one core: {len(tasks)} candidates that {what}", flush=True)
            found = measure_alternately(engines, prepared, tasks, 3, options.times)
            ratio = found["three nodes"].rate / (3 * found["one node"].rate)
            goal = f"goal: {GOAL_THREE:.2f} or more" if what == "mostly wait" else f"on {os.cpu_count()} cores"
            print(f"three nodes keep {ratio:.2f} of three times one node, for candidates that {what} ({goal})")
            agree &= report_agreement(found)
    return agree


def make_tasks(engine: Engine, prepared: Prepared, instance, count: int, first: int) -> list[Task]:
    """Passing copies and mutants, alternately."""
    node = engine.target(prepared, instance).target.node
    mutants = [code for _, code in write_mutants(node, count)] or [write_copy(node, 0)]
    codes = [write_copy(node, number) if number % 2 else mutants[number % len(mutants)] for number in range(count)]
    return [Task(instance, code, first + number) for number, code in enumerate(codes)]


def measure_alternately(
    engines: dict[str, Engine], prepared: dict[str, Prepared], tasks: list[Task], workers: int, times: int
) -> dict[str, Measured]:
    best: dict[str, Measured] = {}
    for _ in range(times):
        for name, engine in engines.items():
            count = engine.executor.count(engine, workers) if engine.executor is not None else workers
            pool = Pool(engine, prepared, workers=workers)
            now = measure(lambda keep, pool=pool: pool.run(tasks, keep), count)
            print(f"  {name:12} {now.rate:7.2f} candidates/s, after {now.start:5.1f} s", flush=True)
            if name not in best or now.rate > best[name].rate:
                best[name] = now
    return best


def measure(run: Callable[[Callable], None], workers: int) -> Measured:
    statuses: dict[int, tuple[str, tuple[str, ...]]] = {}
    threads: set[int] = set()
    lock = threading.Lock()
    began = time.monotonic()
    all_started = counted = 0.0

    def keep(task, verdict) -> None:
        nonlocal all_started, counted
        with lock:
            statuses[task.sample] = str(verdict.status), tuple(map(str, verdict.tests.values()))
            threads.add(threading.get_ident())
            if len(threads) >= workers and not all_started:
                all_started, counted = time.monotonic(), len(statuses)

    run(keep)
    ended = time.monotonic()
    if not all_started or len(statuses) - counted < 10:
        raise SystemExit("too few candidates to measure: give more with --each")
    return Measured((len(statuses) - counted) / (ended - all_started), all_started - began, statuses)


def report_agreement(found: dict[str, Measured]) -> bool:
    first, second = (one.statuses for one in found.values())
    differing = [sample for sample in first if first[sample] != second[sample]]
    print(f"verdicts: {len(first) - len(differing)} of {len(first)} are the same in both", flush=True)
    return not differing


if __name__ == "__main__":
    raise SystemExit(main())
