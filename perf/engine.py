"""Measure the speed of the engine and check that warm, fresh and bare execution agree.

Judges the same candidates, half passing and half failing, three times in one run: by one bare unconfined pytest process
per candidate, in fresh mode, and in warm mode. Prints candidates per second, ratios, the tests' own time, memory and
agreement; exits with 1 if verdicts differ. By default four instances of each of seven projects (numpy, torch, jax,
tensorflow), because a bare process takes seconds.
`python perf/engine.py [--each N] [--instances N] [--project NAME …]`
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dlbench.agreement.answers import write_copy
from dlbench.dataset import Instance, load
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.pool import Pool, Task
from dlbench.execution.processes import find_descendants, memory_mb
from dlbench.execution.reference_profile import profile_reference
from dlbench.execution.worker import Worker
from dlbench.runs.verdict import Verdict
from dlbench.validation.mutants import write_mutants, write_stub
from dlbench.workspace import Prepared, prepare

MIX = ("albucore", "chex", "gpflow", "gpytorch", "keras", "pytorch-optimizer", "seqeval")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10, help="candidates per instance, half of them passing")
    parser.add_argument("--instances", type=int, default=4, help="instances per project, spread over its records")
    parser.add_argument("--project", action="append", help=f"default: {', '.join(MIX)}")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    benchmark = load()
    names = options.project or list(MIX)
    prepared = {name: prepare(benchmark.projects[name], benchmark.root) for name in names}
    instances = [
        instance
        for name in names
        for instance in spread([i for i in benchmark.instances.values() if i.project == name], options.instances)
    ]
    engine = Engine(choose_sandbox(), Limits(test_seconds=20.0))
    pool = Pool(engine, prepared, workers=options.workers)
    print(f"choosing candidates of {len(instances)} instances of {len(names)} projects", flush=True)
    tasks = choose(pool, instances, options.each)
    passing = sum(task.name == "pass" for task in tasks)
    print(
        f"{len(tasks)} candidates, {passing} passing; {options.workers} at once; {engine.confinement.name}", flush=True
    )

    warm, warm_seconds, warm_peak = timed(lambda keep: pool.run(tasks, keep))
    print(
        f"warm  {len(tasks) / warm_seconds:8.2f} candidates/s  {warm_seconds:8.1f} s  peak {warm_peak:6.0f} MiB",
        flush=True,
    )
    fresh_pool = Pool(engine, prepared, workers=options.workers, mode="fresh")
    fresh, fresh_seconds, fresh_peak = timed(lambda keep: fresh_pool.run(tasks, keep))
    print(
        f"fresh {len(tasks) / fresh_seconds:8.2f} candidates/s  {fresh_seconds:8.1f} s  peak {fresh_peak:6.0f} MiB",
        flush=True,
    )
    bare, bare_seconds, _ = timed(lambda keep: run_bare(engine, prepared, tasks, options.workers, keep))
    print(f"bare  {len(tasks) / bare_seconds:8.2f} candidates/s  {bare_seconds:8.1f} s", flush=True)

    show(tasks, warm, fresh, bare, bare_seconds / warm_seconds, fresh_seconds / bare_seconds)
    differing = [task for task in tasks if not agree(warm[task.sample], fresh[task.sample], bare[task.sample])]
    for task in differing:
        three = (warm[task.sample], fresh[task.sample], bare[task.sample])
        print(
            f"DIFFERS {task.instance.id}: {', '.join(f'{v.mode} {v.status}' for v in three)}: {three[0].message[-300:]}"
        )
    print(f"verdicts: {len(tasks) - len(differing)} of {len(tasks)} agree in all three", flush=True)
    show_starts(engine, prepared, instances)
    return 1 if differing else 0


def spread(instances: list[Instance], most: int) -> list[Instance]:
    """At most `most` at equal distances, because neighbours share a module."""
    step = max(1.0, len(instances) / most)
    return [instances[int(index * step)] for index in range(min(most, len(instances)))]


def choose(pool: Pool, instances: list[Instance], each: int) -> list[Task]:
    """Passing variants of the reference, and mutants and stubs that fail; determined beforehand, untimed."""
    trial: list[Task] = []
    for instance in instances:
        target = pool.engine.target(pool.prepared[instance.project], instance).target
        mutants = [code for _, code in write_mutants(target.node, each)]
        stubs = [write_stub(target.node, kind) for kind in ("raises", "returns_none")]
        for code in [*mutants, *stubs]:
            trial.append(Task(instance, code, len(trial)))
    statuses: dict[int, str] = {}
    pool.run(trial, lambda task, verdict: statuses.update({task.sample: str(verdict.status)}))
    chosen: list[Task] = []
    for instance in instances:
        node = pool.engine.target(pool.prepared[instance.project], instance).target.node
        failing = [t.code for t in trial if t.instance is instance and statuses[t.sample] in {"fail", "error"}]
        for code in failing[: each // 2]:
            chosen.append(Task(instance, code, len(chosen), "fail"))
        for number in range(min(each // 2, len(failing))):
            chosen.append(Task(instance, write_copy(node, number), len(chosen), "pass"))
    return chosen


def timed(run) -> tuple[dict[int, Verdict], float, float]:
    verdicts: dict[int, Verdict] = {}
    peak, is_over = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(2.0):
            peak = max(peak, memory_mb(find_descendants(os.getpid()), 0.0))

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.monotonic()
    run(lambda task, verdict: verdicts.update({task.sample: verdict}))
    seconds = time.monotonic() - began
    is_over.set()
    watcher.join()
    return verdicts, seconds, peak


def run_bare(engine: Engine, prepared: dict[str, Prepared], tasks: list[Task], workers: int, keep) -> None:
    """Like a harness without an engine: the spliced file in its own tree, and a pytest process on it."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as threads:
        trees: dict[str, list[Path]] = {name: [] for name in prepared}
        lock = threading.Lock()

        def work(task: Task) -> None:
            ready = prepared[task.instance.project]
            with lock:
                free = trees[task.instance.project]
                tree = free.pop() if free else None
            if tree is None:
                tree = Path(tempfile.mkdtemp(dir=folder)) / "tree"
                shutil.copytree(ready.tree, tree, symlinks=True)
            keep(task, judge_bare(engine, ready, task, tree))
            with lock:
                trees[task.instance.project].append(tree)

        list(threads.map(work, tasks))


def judge_bare(engine: Engine, ready: Prepared, task: Task, tree: Path) -> Verdict:
    assert task.code is not None
    candidate = engine.target(ready, task.instance).read(task.code)
    path = tree / task.instance.path
    original = path.read_bytes()
    path.write_text(candidate.spliced.source, encoding="utf-8")
    inner = ready.import_path.relative_to(ready.tree)
    environment = {**os.environ, **ready.project.tests.env, "PYTHONPATH": str(tree / inner), "OMP_NUM_THREADS": "1"}
    command = [
        str(ready.python),
        *["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir"],
        str(tree),
    ]
    began = time.monotonic()
    try:
        ended = subprocess.run(
            [*command, *ready.project.tests.args, *task.instance.tests],
            cwd=tree, env=environment, capture_output=True, timeout=600, check=False,
        )  # fmt: skip
    finally:
        path.write_bytes(original)
    status = "pass" if ended.returncode == 0 else "fail"
    message = "" if ended.returncode == 0 else ended.stdout.decode(errors="replace")[-500:]
    record = {"instance": task.instance.id, "sample": task.sample, "status": status, "tests": {}, "message": message}
    return Verdict.from_record(record | {"seconds": time.monotonic() - began, "mode": "bare"})


def agree(warm: Verdict, fresh: Verdict, bare: Verdict) -> bool:
    same = warm.status is fresh.status and warm.tests == fresh.tests
    return same and fresh.passed == bare.passed


def show(tasks: list[Task], warm, fresh, bare, faster: float, slower: float) -> None:
    print(f"warm is {faster:.1f} times as fast as bare; fresh takes {slower:.2f} of the time of bare")
    alone = sum(verdict.seconds for verdict in bare.values()) / sum(verdict.seconds for verdict in warm.values())
    print(f"per candidate, without the start of workers and servers: {alone:.1f} times as fast")
    limit = sum(verdict.test_seconds for verdict in warm.values())
    spent = sum(verdict.seconds for verdict in warm.values())
    beside = statistics.median(verdict.seconds - verdict.test_seconds for verdict in warm.values())
    print(f"the tests take {limit:.1f} s, {limit / spent:.0%} of the time of warm candidates")
    print(f"median overhead of a warm candidate: {beside * 1000:.0f} ms")
    print(f"modes: {dict(Counter(verdict.mode for verdict in warm.values()))}")
    for project in dict.fromkeys(task.instance.project for task in tasks):
        mine = [task.sample for task in tasks if task.instance.project == project]
        means = [statistics.mean(found[sample].seconds for sample in mine) for found in (bare, fresh, warm)]
        own = statistics.mean(warm[sample].test_seconds for sample in mine)
        line = "  ".join(f"{name} {value:7.3f} s" for name, value in zip(("bare", "fresh", "warm"), means, strict=True))
        print(
            f"  {project:20} {line}  tests {own:7.3f} s  {means[0] / means[2]:6.1f} x  {own / means[2]:4.0%} of the limit"
        )


def show_starts(engine: Engine, prepared: dict[str, Prepared], instances: list[Instance]) -> None:
    """The start of a worker, compared with the same imports in a bare process."""
    for name, ready in prepared.items():
        instance = next(one for one in instances if one.project == name)
        profile = profile_reference(engine, ready, instance)
        began = time.monotonic()
        with contextlib.closing(Worker(engine, ready, list(profile.modules))):
            warm = time.monotonic() - began
        # on standard input, because the names of tensorflow's modules exceed the limit of an argument
        code = f"for name in {list(profile.modules)!r}:\n    try:\n        __import__(name)\n    except Exception:\n        pass\n"
        began = time.monotonic()
        subprocess.run(
            [str(ready.python), "-"],
            input=code.encode(),
            cwd=ready.tree,
            capture_output=True,
            check=False,
            env={**os.environ, **ready.project.tests.env},
        )
        print(
            f"  {name:20} worker starts in {warm:.2f} s; the same imports in a bare process {time.monotonic() - began:.2f} s"
        )


if __name__ == "__main__":
    sys.exit(main())
