"""Measure how fast solutions run on tests in the warm engine, against one process per run.

The same solutions (the reference and mutants of it) run on the same tests (extracted from the project's own) in two ways:
in the warm engine, confined; and, for a part of the runs, in one bare process each, which imports the spliced project.
Prints runs per second of both, their ratio, and the time that 520 instances x 8 solutions x 40 tests would take. Mutants
that hang are left out. Exits with 1 if both ways disagree on a run.
`python perf/agreement.py [--project NAME …] [--instances N] [--times N]`
"""

import argparse
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from dlbench.dataset import Instance, load
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.cross_run import CheckResult, CrossRunPool, CrossRunTask
from dlbench.execution.processes import find_descendants, memory_mb
from dlbench.workspace import Prepared, prepare

sys.path.insert(0, str(Path(__file__).parent.parent / "studies"))
from injected_solutions.run import Mix, make_solutions, make_test_pool

RUNS = 520 * 8 * 40
GOAL_SECONDS = 40 * 60
RUNNER = """
import importlib, sys
module = importlib.import_module(sys.argv[1])
space = {name: value for name, value in vars(module).items() if not name.startswith("__")}
space["__name__"] = "test"
exec(compile(open(sys.argv[2]).read(), "<test>", "exec"), space)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", action="append", help="only these projects")
    parser.add_argument("--instances", type=int, default=2, help="of each project")
    parser.add_argument("--solutions", type=int, default=8)
    parser.add_argument("--tests", type=int, default=40)
    parser.add_argument("--bare", type=int, default=6, help="runs of each instance in a process of their own")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    benchmark = load()
    names = options.project or ["albucore", "globox", "seqeval", "pytorch-optimizer", "keras"]
    prepared = {name: prepare(benchmark.projects[name], benchmark.root) for name in names}
    engine = Engine(choose_sandbox(), Limits())
    tasks: list[CrossRunTask] = []
    for name in names:
        fitting = [instance for instance in benchmark.instances.values() if instance.project == name]
        found = (made for one in fitting if (made := make_tasks(engine, prepared[name], one, options)))
        for made in islice(found, options.instances):
            tasks += made
    runs = sum(len(task.checks) for task in tasks)
    print(f"{len(tasks)} solutions, {runs} runs, {options.workers} in parallel; {engine.confinement.name}", flush=True)

    # with outputs, as `run` keeps them
    make_pool = functools.partial(CrossRunPool, engine, prepared, workers=options.workers, outputs=True)
    tasks = drop_hanging(make_pool(seconds=2.0), tasks)
    runs = sum(len(task.checks) for task in tasks)
    warm, seconds, peak = run_warm(make_pool(seconds=10.0), tasks, options.times)
    sample = [(task, place) for task in tasks for place in range(len(task.checks))]
    step = max(1, len(sample) // (options.bare * len(names) * options.instances))
    sample = sample[::step]
    bare, bare_seconds = run_bare(engine, prepared, sample, options.workers)
    rate, bare_rate = runs / seconds, len(sample) / bare_seconds
    print(
        f"warm  {rate:8.2f} runs/s  {1000 * seconds / runs:8.1f} ms per run  peak {peak:6.0f} MiB, the command included"
    )
    print(
        f"bare  {bare_rate:8.2f} runs/s  {1000 * bare_seconds / len(sample):8.1f} ms per run, on {len(sample)} of the runs"
    )
    print(f"warm is {rate / bare_rate:.1f} times as fast as one process per run")
    print(f"{RUNS} runs would take {RUNS / rate / 60:.0f} minutes here (goal: {GOAL_SECONDS / 60:.0f})")
    own = sum(one.seconds for row in warm.values() for one in row)
    print(f"the runs themselves, including forks, took {own:.1f} s of {seconds * options.workers:.1f} s")
    differing = [(task, place) for task, place in sample if bare[id(task), place] != passed(warm, task, place)]
    for task, place in differing:
        print(f"DIFFERS {task.instance.id} {task.key} {place}: {warm[id(task)][place]}")
    print(f"{len(sample) - len(differing)} of {len(sample)} runs have the same result in both ways")
    return 1 if differing else 0


def make_tasks(engine: Engine, ready: Prepared, instance: Instance, options: argparse.Namespace) -> list[CrossRunTask]:
    mix = Mix(options.solutions, 2, options.tests)
    pool = make_test_pool(ready, instance, mix)
    codes = [test.code for test in pool.tests][: options.tests]
    if len(codes) < options.tests:
        return []
    return [
        CrossRunTask(instance, str(number), solution.code, codes)
        for number, solution in enumerate(make_solutions(engine, ready, instance, mix))
    ]


def drop_hanging(pool: CrossRunPool, tasks: list[CrossRunTask]) -> list[CrossRunTask]:
    """A mutant that never ends would measure the time limit."""
    hanging: set[int] = set()

    def note(task: CrossRunTask, row: list[CheckResult]) -> None:
        if any(one.result == "timeout" for one in row):
            hanging.add(id(task))

    pool.run(tasks, note)
    kept = [task for task in tasks if id(task) not in hanging]
    print(f"{len(hanging)} solutions hang and are left out; {sum(len(one.checks) for one in kept)} runs", flush=True)
    return kept


def passed(warm: dict[int, list[CheckResult]], task: CrossRunTask, place: int) -> bool:
    return warm[id(task)][place].result == "passed"


def run_warm(
    pool: CrossRunPool, tasks: list[CrossRunTask], times: int
) -> tuple[dict[int, list[CheckResult]], float, float]:
    """The best of several, each including the start of all workers."""
    best, peak, is_over = float("inf"), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(1.0):
            peak = max(peak, memory_mb([os.getpid(), *find_descendants(os.getpid())], 0.0))

    watcher = threading.Thread(target=watch)
    watcher.start()
    found: dict[int, list[CheckResult]] = {}
    try:
        for _ in range(times):
            began = time.monotonic()
            pool.run(tasks, lambda task, row: found.update({id(task): row}))
            best = min(best, time.monotonic() - began)
            print(f"  warm: {time.monotonic() - began:.1f} s", flush=True)
    finally:
        is_over.set()
        watcher.join()
    return found, best, peak


def run_bare(engine: Engine, prepared: dict[str, Prepared], sample, workers: int):
    """One tree per solution, made beforehand and not counted; then one process per run."""
    found: dict[tuple[int, int], bool] = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as threads:
        runner = Path(folder) / "runner.py"
        runner.write_text(RUNNER)
        trees: dict[int, Path] = {}
        for task, _ in sample:
            if id(task) not in trees:
                trees[id(task)] = lay_out(engine, prepared[task.instance.project], task, Path(folder))

        def work(run) -> None:
            task, place = run
            ready, tree = prepared[task.instance.project], trees[id(task)]
            inner = ready.import_path.relative_to(ready.tree)
            test = Path(folder) / f"{id(task)}-{place}.py"
            test.write_text(task.checks[place])
            environment = {
                **os.environ,
                **ready.project.tests.env,
                "PYTHONPATH": str(tree / inner),
                "OMP_NUM_THREADS": "1",
            }
            command = [str(ready.python), str(runner), task.instance.module, str(test)]
            ended = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=600, check=False)
            found[id(task), place] = ended.returncode == 0

        began = time.monotonic()
        list(threads.map(work, sample))
        return found, time.monotonic() - began


def lay_out(engine: Engine, ready: Prepared, task: CrossRunTask, folder: Path) -> Path:
    tree = folder / str(id(task))
    shutil.copytree(ready.tree, tree, symlinks=True)
    candidate = engine.target(ready, task.instance).read(task.code)
    (tree / task.instance.path).write_text(candidate.spliced.source, encoding="utf-8")
    return tree


if __name__ == "__main__":
    raise SystemExit(main())
