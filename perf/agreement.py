"""How fast do solutions meet a model's tests, against a process for each cell?

The same solutions (the reference and mutants of it) and the same tests (cut out of the project's own, to stand alone)
meet in two ways in one run: in the warm engine, confined; and, on a part of the cells, in a bare process each, which
imports the spliced project and runs the one test, not confined. Prints cells a second of both and their ratio, and what
520 instances x 8 solutions x 40 tests would take. Best of several. Mutants that hang are left out, and said. Ends 1 when
the two ways disagree on a cell.
`python perf/agreement.py [--project NAME …] [--instances N] [--times N]`
"""

import argparse
import functools
import os
import shutil
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from dlbench.agreement.planted import Mix, gather_material, make_solutions
from dlbench.dataset import Instance, load
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.cross_run import CheckResult, CrossRunPool, CrossRunTask
from dlbench.execution.processes import find_descendants, memory_mb
from dlbench.workspace import Prepared, prepare

CELLS = 520 * 8 * 40
GOAL_SECONDS = 40 * 60
RUNNER = """
import importlib, sys
module = importlib.import_module(sys.argv[1])
space = {name: value for name, value in vars(module).items() if not name.startswith("__")}
space["__name__"] = "check"
exec(compile(open(sys.argv[2]).read(), "<check>", "exec"), space)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", action="append", help="only these projects")
    parser.add_argument("--instances", type=int, default=2, help="of each project")
    parser.add_argument("--solutions", type=int, default=8)
    parser.add_argument("--checks", type=int, default=40)
    parser.add_argument("--bare", type=int, default=6, help="cells of each instance that get a process of their own")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    benchmark = load()
    names = options.project or ["albucore", "globox", "seqeval", "pytorch-optimizer", "keras"]
    prepared = {name: prepare(benchmark.projects[name], benchmark.root) for name in names}
    engine = Engine(choose_sandbox(), Limits())
    meetings: list[CrossRunTask] = []
    for name in names:
        fitting = [instance for instance in benchmark.instances.values() if instance.project == name]
        found = (made for one in fitting if (made := make_meetings(engine, prepared[name], one, options)))
        for made in islice(found, options.instances):
            meetings += made
    cells = sum(len(meeting.checks) for meeting in meetings)
    print(f"{len(meetings)} solutions, {cells} cells, {options.workers} at once; {engine.confinement.name}", flush=True)

    # with what solutions return, as `run` and `planted` keep it
    rooms = functools.partial(CrossRunPool, engine, prepared, workers=options.workers, outputs=True)
    meetings = leave_out_hanging(rooms(seconds=2.0), meetings)
    cells = sum(len(meeting.checks) for meeting in meetings)
    warm, seconds, peak = run_warm(rooms(seconds=10.0), meetings, options.times)
    sample = [(meeting, place) for meeting in meetings for place in range(len(meeting.checks))]
    step = max(1, len(sample) // (options.bare * len(names) * options.instances))
    sample = sample[::step]
    bare, bare_seconds = run_bare(engine, prepared, sample, options.workers)
    rate, bare_rate = cells / seconds, len(sample) / bare_seconds
    print(
        f"warm  {rate:8.2f} cells/s  {1000 * seconds / cells:8.1f} ms a cell  peak {peak:6.0f} MiB, the command included"
    )
    print(
        f"bare  {bare_rate:8.2f} cells/s  {1000 * bare_seconds / len(sample):8.1f} ms a cell, on {len(sample)} of the cells"
    )
    print(f"warm is {rate / bare_rate:.1f} times as fast as a process a cell")
    print(f"{CELLS} cells would take {CELLS / rate / 60:.0f} minutes here (goal: {GOAL_SECONDS / 60:.0f})")
    own = sum(met.seconds for row in warm.values() for met in row)
    print(f"the cells themselves, with their forks, took {own:.1f} s of {seconds * options.workers:.1f}")
    differing = [
        (meeting, place) for meeting, place in sample if bare[id(meeting), place] != passed(warm, meeting, place)
    ]
    for meeting, place in differing:
        print(f"DIFFERS {meeting.instance.id} {meeting.key} {place}: {warm[id(meeting)][place]}")
    print(f"{len(sample) - len(differing)} of {len(sample)} cells end alike in both ways")
    return 1 if differing else 0


def make_meetings(
    engine: Engine, ready: Prepared, instance: Instance, options: argparse.Namespace
) -> list[CrossRunTask]:
    mix = Mix(options.solutions, 2, options.checks)
    material = gather_material(ready, instance, mix)
    codes = [check.code for check in material.checks][: options.checks]
    if len(codes) < options.checks:
        return []
    return [
        CrossRunTask(instance, str(number), solution.code, codes)
        for number, solution in enumerate(make_solutions(engine, ready, instance, mix))
    ]


def leave_out_hanging(rooms: CrossRunPool, meetings: list[CrossRunTask]) -> list[CrossRunTask]:
    """A mutant that never ends takes its limit for every test, in any engine: that would measure the limit."""
    hanging: set[int] = set()

    def look(meeting: CrossRunTask, row: list[CheckResult]) -> None:
        if any(met.result == "timeout" for met in row):
            hanging.add(id(meeting))

    rooms.run(meetings, look)
    kept = [meeting for meeting in meetings if id(meeting) not in hanging]
    print(f"{len(hanging)} solutions hang and are left out; {sum(len(one.checks) for one in kept)} cells", flush=True)
    return kept


def passed(warm: dict[int, list[CheckResult]], meeting: CrossRunTask, place: int) -> bool:
    return warm[id(meeting)][place].result == "passed"


def run_warm(
    rooms: CrossRunPool, meetings: list[CrossRunTask], times: int
) -> tuple[dict[int, list[CheckResult]], float, float]:
    """The best of several, each with all starts of workers in it."""
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
            rooms.run(meetings, lambda meeting, met: found.update({id(meeting): met}))
            best = min(best, time.monotonic() - began)
            print(f"  warm: {time.monotonic() - began:.1f} s", flush=True)
    finally:
        is_over.set()
        watcher.join()
    return found, best, peak


def run_bare(engine: Engine, prepared: dict[str, Prepared], sample, workers: int):
    """A tree for each solution, made beforehand and not counted; then a process for each cell."""
    found: dict[tuple[int, int], bool] = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as threads:
        runner = Path(folder) / "runner.py"
        runner.write_text(RUNNER)
        trees: dict[int, Path] = {}
        for meeting, _ in sample:
            if id(meeting) not in trees:
                trees[id(meeting)] = lay_out(engine, prepared[meeting.instance.project], meeting, Path(folder))

        def work(cell) -> None:
            meeting, place = cell
            ready, tree = prepared[meeting.instance.project], trees[id(meeting)]
            inner = ready.import_path.relative_to(ready.tree)
            check = Path(folder) / f"{id(meeting)}-{place}.py"
            check.write_text(meeting.checks[place])
            environment = {
                **os.environ,
                **ready.project.tests.env,
                "PYTHONPATH": str(tree / inner),
                "OMP_NUM_THREADS": "1",
            }
            command = [str(ready.python), str(runner), meeting.instance.module, str(check)]
            ended = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=600, check=False)
            found[id(meeting), place] = ended.returncode == 0

        began = time.monotonic()
        list(threads.map(work, sample))
        return found, time.monotonic() - began


def lay_out(engine: Engine, ready: Prepared, meeting: CrossRunTask, folder: Path) -> Path:
    tree = folder / str(id(meeting))
    shutil.copytree(ready.tree, tree, symlinks=True)
    candidate = engine.target(ready, meeting.instance).read(meeting.code)
    (tree / meeting.instance.path).write_text(candidate.spliced.source, encoding="utf-8")
    return tree


if __name__ == "__main__":
    raise SystemExit(main())
