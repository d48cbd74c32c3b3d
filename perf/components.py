"""Measure what judging an answer of many files costs, beside the tests alone.

Without options, a rebuild of 1,000 tests is made, whose module is right from the start: wall time against the tests' own
time divided by the workers. With `--bare`, the references of described components, beside a bare unconfined pytest
process on the release; one worker each. Exits with 1 if a test does not pass.
`python perf/components.py [--task ID …] [--bare] [--tests N] [--milliseconds N] [--workers N] [--repeat N]`
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dlbench.cli.app import Chosen
from dlbench.cli.task import open_tasks
from dlbench.dataset import load
from dlbench.dataset.file_task import Rebuild
from dlbench.dataset.labels import Track
from dlbench.dataset.skeleton import hash_skeleton, reduce_tree
from dlbench.dataset.tracks import read_tasks, write_task
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.file_task import OpenTask, judge_files
from dlbench.workspace import prepare

MODULE = '''import time


def work(number, seconds):
    """Compute for a number of seconds and return the number."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return number
'''
TEST = """import pytest

from many import work


@pytest.mark.parametrize("number", range({count}))
def test_work(number):
    assert work(number, {seconds}) == number
"""
RECORD = """name = "many"
version = "1.0"
released = 2026-01-02
path = "../source"
license = "Apache-2.0"
environment = "numpy"
framework = "numpy"
"""
FILES = 20


def write_many(root: Path, tests: int, seconds: float) -> Path:
    """A benchmark's folder with one task of many tests."""
    source, benchmark = root / "source", root / "benchmark"
    for folder in (source / "many", source / "tests", benchmark / "projects", benchmark / "locks"):
        folder.mkdir(parents=True)
    (source / "many" / "__init__.py").write_text(MODULE)
    for number in range(FILES):
        text = TEST.format(count=tests // FILES, seconds=seconds)
        (source / "tests" / f"test_{number:02}.py").write_text(text)
    (benchmark / "VERSION").write_text("1.0\n")
    (benchmark / "projects" / "many.toml").write_text(RECORD)
    lock = (load().root / "locks" / "numpy.txt").read_text()
    (benchmark / "locks" / "numpy.txt").write_text(lock)
    ids = [f"tests/test_{file:02}.py::test_work[{n}]" for file in range(FILES) for n in range(tests // FILES)]
    files = ("many/__init__.py",)
    digest = hash_skeleton(reduce_tree(source, files, ()))
    hidden = tuple(ids[::2])
    visible = tuple(ids[1::2])
    facts = {"id": "many/rebuild-many", "project": "many", "version": "1.0", "files": files, "sha256": digest}
    write_task(benchmark, Rebuild(**facts, visible=visible, hidden=hidden, lines=4, definitions=1))
    return benchmark


def run_bare(task: OpenTask, folder: Path) -> float:
    """Seconds of one pytest process on the release."""
    project, tests = task.prepared.project, folder / "tests.txt"
    tests.write_text("\n".join(task.record.tests))
    settings = {"PYTHONPATH": project.import_root, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    words = [str(task.prepared.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    began = time.monotonic()
    done = subprocess.run(
        [*words, *project.tests.args, f"@{tests}"],
        cwd=task.prepared.tree,
        env=os.environ | settings | project.tests.env,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{task.record.id}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return time.monotonic() - began


def compare_bare(tasks: list[OpenTask], repeat: int) -> int:
    engine, ratios = Engine(choose_sandbox(), Limits()), []
    with tempfile.TemporaryDirectory(prefix="dlbench-perf-") as folder:
        for task in tasks:
            judge_files(engine, task, task.reference)  # learns how long the tests take
            bare, judged = [], []
            for _ in range(repeat):
                bare.append(run_bare(task, Path(folder)))
                verdict = judge_files(engine, task, task.reference)
                if not verdict.passed:
                    print(task.record.id, verdict.status, verdict.message)
                    return 1
                judged.append(verdict.seconds)
            ratios.append(statistics.median(bare) / statistics.median(judged))
            print(f"{task.record.id}: bare {statistics.median(bare):.1f} s, {ratios[-1]:.2f} times as fast", flush=True)
    print(f"{len(ratios)} components: median {statistics.median(ratios):.2f} times as fast as bare (goal 3)")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", action="append", help="a task of the benchmark")
    parser.add_argument("--bare", action="store_true", help="components beside a bare process")
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--milliseconds", type=float, default=30.0, help="processor time of each test")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    if not options.bare and len(options.task or ()) > 1:
        parser.error("several tasks need --bare")
    if options.bare:
        chosen = Chosen(None, instance=options.task)
        return compare_bare(open_tasks(chosen, None if options.task else Track.COMPONENT), options.repeat)
    with tempfile.TemporaryDirectory(prefix="dlbench-perf-") as folder:
        made = None if options.task else write_many(Path(folder), options.tests, options.milliseconds / 1000)
        benchmark = load(made)
        records = read_tasks(benchmark.root)
        record = records[options.task[0]] if options.task else next(iter(records.values()))
        task = OpenTask(record, prepare(benchmark.projects[record.project], benchmark.root))
        engine = Engine(choose_sandbox(), Limits())
        ratios = []
        for number in range(options.repeat + 1):  # the first one learns how long the tests take
            verdict = judge_files(engine, task, task.reference, workers=options.workers)
            if not verdict.passed:
                print(verdict.status, verdict.message)
                return 1
            ratio = verdict.seconds / (verdict.test_seconds / options.workers)
            if number:
                ratios.append(ratio)
                print(f"{verdict.seconds:.1f} s for {verdict.test_seconds:.1f} s of tests: {ratio:.2f}")
    count = len(record.tests)
    print(f"{record.id}, {count} tests, {options.workers} workers: {statistics.median(ratios):.2f} (goal 1.2)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
