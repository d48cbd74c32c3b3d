"""Measure `dlbench.Judge`: a stream of candidates, fail-fast, the overhead beside the tests, the first verdict, the service.

All ratios come from one run on the same candidates, half passing and half failing. By default 25 candidates of each of
20 instances. Exits with 1 if a verdict differs between two measurements.
`python perf/judge.py [--each N] [--instances N] [--project NAME …] [--clients N]`
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine import MIX, choose, judge_bare, spread

import dlbench
from dlbench.execution.pool import Task

Candidates = list[tuple[str, str]]
Run = Callable[[Candidates], Iterator[dlbench.Verdict]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=25, help="candidates per instance, half of them passing")
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--project", action="append", help=f"default: {', '.join(MIX)}")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--clients", type=int, default=64, help="concurrent clients of the service")
    options = parser.parse_args()
    names = options.project or list(MIX)
    benchmark = dlbench.load()
    each = -(-options.instances // len(names))
    instances = [
        one for name in names for one in spread([i for i in benchmark.instances.values() if i.project == name], each)
    ][: options.instances]
    differing = 0
    with (
        dlbench.Judge(benchmark, workers=options.workers, cached=0) as plain,
        dlbench.Judge(benchmark, workers=options.workers, cached=0, fail_fast=True) as fast,
    ):
        plain.prepare(*names)
        fast.prepare(*names)
        tasks = choose(plain.pool, instances, options.each)
        passing, failing = ([task for task in tasks if task.name == name] for name in ("pass", "fail"))
        print(f"{len(tasks)} candidates of {len(instances)} instances, {len(passing)} passing", flush=True)
        list(fast.judge_many(pairs(failing[:: options.each // 2])))  # measures which tests kill mutants, once

        seconds, found = measure(plain, passing)
        own = sum(one.test_seconds for one in found) / options.workers
        differing += sum(not one.passed for one in found)
        print(f"passing: {len(passing) / seconds:.2f}/s, the tests' own time is {own / seconds:.0%} of it (goal 85 %)")
        beside = statistics.median(one.seconds - one.test_seconds for one in found)
        print(f"median overhead beside the tests: {1000 * beside:.0f} ms (goal 40)")

        seconds, found = measure(plain, failing)
        quick, stopped = measure(fast, failing)
        differing += sum(one.passed for one in [*found, *stopped])
        print(
            f"failing: {len(failing) / seconds:.2f}/s, fail-fast {seconds / quick:.2f} times that (goal 2)", flush=True
        )

        seconds, found = measure(plain, tasks)
        print(f"all: {len(tasks) / seconds:.2f}/s", flush=True)
    served, statuses = serve(tasks, options.workers, options.clients)
    differing += sum(str(one.status) != statuses[one.sample] for one in found)
    print(f"service with {options.clients} clients: {seconds / served:.0%} of the object's throughput (goal 90 %)")
    show_first_verdicts(benchmark, names, passing)
    print(f"{differing} verdicts differ")
    return 1 if differing else 0


def pairs(tasks: list[Task]) -> Candidates:
    return [(task.instance.id, task.code or "") for task in tasks]


def measure(judge: dlbench.Judge, tasks: list[Task]) -> tuple[float, list[dlbench.Verdict]]:
    began = time.monotonic()
    found = list(judge.judge_many(pairs(tasks)))
    return time.monotonic() - began, found


def serve(tasks: list[Task], workers: int, clients: int) -> tuple[float, dict[int, str]]:
    """Seconds and statuses of the same candidates, each asked for by one of many clients."""
    from dlbench.service.client import JudgeClient

    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "dlbench", "serve", "--port", "8719", "--token", "perf", "--cached", "0"]
        server = subprocess.Popen([*command, "--workers", str(workers)], stdout=log, stderr=log)
        try:
            own = threading.local()

            def ask(task: Task) -> str:
                if not hasattr(own, "client"):
                    own.client = JudgeClient("http://127.0.0.1:8719", "perf")
                return str(own.client.judge(task.instance.id, task.code or "")["status"])

            for name in dict.fromkeys(task.instance.project for task in tasks):  # it starts, and prepares the projects
                ask(next(task for task in tasks if task.instance.project == name))
            began = time.monotonic()
            with ThreadPoolExecutor(clients) as threads:
                found = list(threads.map(ask, tasks))
            return time.monotonic() - began, dict(enumerate(found))
        finally:
            server.terminate()
            server.wait()


def show_first_verdicts(benchmark: dlbench.Benchmark, names: list[str], passing: list[Task]) -> None:
    """A judge that starts, judges one candidate and ends, beside a bare pytest process on the same candidate."""
    ratios = []
    for name in names:
        task = next((one for one in passing if one.instance.project == name), None)
        if task is None:
            continue
        began = time.monotonic()
        with dlbench.Judge(benchmark, workers=1) as judge:
            judge.judge(task.instance, task.code or "")
            first = time.monotonic() - began
            ready = judge.pool.prepared[name]
            with tempfile.TemporaryDirectory() as folder:
                tree = Path(shutil.copytree(ready.tree, Path(folder, "tree"), symlinks=True))
                bare = judge_bare(judge.pool.engine, ready, task, tree).seconds
        ratios.append(first / bare)
        print(f"  {name:20} first verdict {first:.2f} s, bare pytest {bare:.2f} s")
    print(f"first verdict: {statistics.median(ratios):.2f} times a bare pytest process at the median (goal 1.3)")


if __name__ == "__main__":
    sys.exit(main())
