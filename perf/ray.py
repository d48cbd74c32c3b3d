"""What does Ray cost on one machine, and what do three nodes give?

The same candidates are judged by the local pool and at the seats of a Ray on this machine, with as many workers, by
turns in one run; then candidates that mostly wait, and others that compute, on one and on three nodes of one core each
(three raylets on this machine, each with workers of its own). Rates are those from the moment when every worker has
given a verdict; what starting takes is told apart. Best of several. Three nodes that compute need three cores to be
three times as fast: on a smaller machine only the figure of those that wait says what the nodes themselves lose. Ends 1
when any verdict differs. `python perf/ray.py [--project NAME …] [--each N] [--times N]`
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

from dlbench.agreement.solutions import write_copy
from dlbench.dataset import load
from dlbench.execution import Engine, Limits, choose_confinement
from dlbench.execution.pool import Pool, Task
from dlbench.execution.ray_cluster.executor import RaySeats
from dlbench.validation.mutants import write_mutants
from dlbench.workspace import Prepared, prepare

GOAL_ONE, GOAL_THREE = 0.90, 0.90


@dataclass(frozen=True)
class Measured:
    rate: float
    """Candidates a second, once every worker is at it."""
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
    # not this folder, where Ray would be this file
    sys.path[0] = str(Path(__file__).parent.parent)
    load_average = os.getloadavg()[0]
    print(
        f"{os.cpu_count()} cores, load before the start {load_average:.1f}{' (NOT QUIET)' if load_average > 0.5 else ''}"
    )
    engine = Engine(choose_confinement(), Limits(test_seconds=20.0, memory_mb=2048))
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
    seats = RaySeats("local", workers=options.workers, memory_mb=engine.limits.memory_mb)
    try:
        ways = {"local": engine, "ray": replace(engine, seats=seats)}
        found = measure_by_turns(ways, prepared, tasks, options.workers, options.times)
    finally:
        seats.close()
    ratio = found["ray"].rate / found["local"].rate
    print(f"Ray on one machine keeps {ratio:.2f} of the local pool's throughput (goal: {GOAL_ONE:.2f} or more)")
    return tell_agreement(found)


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
        one, three = (RaySeats(nodes.address, workers=workers) for workers in (1, 3))
        ways = {"one node": replace(engine, seats=one), "three nodes": replace(engine, seats=three)}
        agree = True
        for what, tasks in (("mostly wait", waiting), ("compute", computing)):
            print(f"nodes of one core: {len(tasks)} candidates that {what}", flush=True)
            found = measure_by_turns(ways, prepared, tasks, 3, options.times)
            ratio = found["three nodes"].rate / (3 * found["one node"].rate)
            goal = f"goal: {GOAL_THREE:.2f} or more" if what == "mostly wait" else f"on {os.cpu_count()} cores"
            print(f"three nodes keep {ratio:.2f} of three times one node, for candidates that {what} ({goal})")
            agree &= tell_agreement(found)
    return agree


def make_tasks(engine: Engine, prepared: Prepared, instance, count: int, first: int) -> list[Task]:
    """Copies that pass and mutants, by turns."""
    node = engine.asked(prepared, instance).target.node
    mutants = [code for _, code in write_mutants(node, count)] or [write_copy(node, 0)]
    codes = [write_copy(node, number) if number % 2 else mutants[number % len(mutants)] for number in range(count)]
    return [Task(instance, code, first + number) for number, code in enumerate(codes)]


def measure_by_turns(
    ways: dict[str, Engine], prepared: dict[str, Prepared], tasks: list[Task], workers: int, times: int
) -> dict[str, Measured]:
    best: dict[str, Measured] = {}
    for _ in range(times):
        for name, engine in ways.items():
            seats = engine.seats.count(engine, workers) if engine.seats is not None else workers
            pool = Pool(engine, prepared, workers=workers)
            now = measure(lambda keep, pool=pool: pool.run(tasks, keep), seats)
            print(f"  {name:12} {now.rate:7.2f} candidates/s, after {now.start:5.1f} s", flush=True)
            if name not in best or now.rate > best[name].rate:
                best[name] = now
    return best


def measure(run: Callable[[Callable], None], workers: int) -> Measured:
    statuses: dict[int, tuple[str, tuple[str, ...]]] = {}
    threads: set[int] = set()
    lock = threading.Lock()
    began = time.monotonic()
    all_at_it = counted = 0.0

    def keep(task, verdict) -> None:
        nonlocal all_at_it, counted
        with lock:
            statuses[task.sample] = str(verdict.status), tuple(map(str, verdict.tests.values()))
            threads.add(threading.get_ident())
            if len(threads) >= workers and not all_at_it:
                all_at_it, counted = time.monotonic(), len(statuses)

    run(keep)
    ended = time.monotonic()
    if not all_at_it or len(statuses) - counted < 10:
        raise SystemExit("too few candidates to measure: give more with --each")
    return Measured((len(statuses) - counted) / (ended - all_at_it), all_at_it - began, statuses)


def tell_agreement(found: dict[str, Measured]) -> bool:
    first, second = (one.statuses for one in found.values())
    differing = [sample for sample in first if first[sample] != second[sample]]
    print(f"verdicts: {len(first) - len(differing)} of {len(first)} are the same in both ways", flush=True)
    return not differing


if __name__ == "__main__":
    raise SystemExit(main())
