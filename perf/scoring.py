"""Measure time and memory of scoring and comparing runs.

Synthetic runs of similar models, each in a run folder as `evaluate` writes it. They are read, with all verdicts in
memory as in `dlbench report`; then every breakdown with its intervals is computed for each run, and every pair of runs.
Prints CPU seconds and the peak memory of the process. `python perf/scoring.py [--runs N] …`
"""

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable
from datetime import date
from multiprocessing import Process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dlbench.dataset import Benchmark, Instance, Labels, Measures, Project, Version
from dlbench.dataset.labels import Data, Framework, Stage, Task
from dlbench.jsonl import rewrite
from dlbench.runs import read_run
from dlbench.runs.verdict import VERDICTS, Verdict
from dlbench.scoring import BREAKDOWNS, compare, summarise_all, tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--instances", type=int, default=520)
    parser.add_argument("--samples", type=int, default=10)
    options = parser.parse_args()
    benchmark = make_benchmark(options.instances)
    probabilities = {one: random.betavariate(0.4, 0.8) for one in benchmark.instances}
    with TemporaryDirectory() as name:
        folders = [Path(name) / str(number) for number in range(options.runs)]
        for folder in folders:
            folder.mkdir()
            rewrite(folder / VERDICTS, map(complete, make_run(probabilities, options.samples)))
        # a child process: making the runs must not count as scoring
        child = Process(target=work, args=(folders, benchmark))
        child.start()
        child.join()
        if child.exitcode:
            sys.exit(child.exitcode)


def work(folders: list[Path], benchmark: Benchmark) -> None:
    print(f"memory before: {memory()} MiB")
    began = time.process_time()
    runs = measure("read", lambda: {folder.name: read_run(folder).verdicts for folder in folders})
    read = time.process_time() - began
    measure("score", lambda: summarise_all(runs, benchmark, BREAKDOWNS))
    tallies = measure("tally", lambda: {name: tally(verdicts, benchmark) for name, verdicts in runs.items()})
    measure("compare", lambda: compare(tallies, benchmark))
    whole = time.process_time() - began
    print(f"scoring and comparing: {whole - read:.1f} s (goal: 10); with reading: {whole:.1f} s")
    print(f"memory at most: {memory()} MiB (goal: 1024)")


def measure(name: str, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - the result of `work`
    began = time.process_time()
    result = work()
    print(f"{name}: {time.process_time() - began:.1f} s")
    return result


def complete(record: dict[str, Any]) -> dict[str, Any]:
    """As in a run folder."""
    message = "" if record["status"] == "pass" else "AssertionError: the shapes (3, 4) and (4, 3) differ"
    return Verdict.from_record(record | {"message": message, "answer_sha256": "0" * 64, "seconds": 1.234}).as_record()


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def make_run(probabilities: dict[str, float], samples: int) -> list[dict[str, Any]]:
    outcomes = {True: {f"test_{n}": "passed" for n in range(6)}, False: {f"test_{n}": "failed" for n in range(6)}}
    records = []
    for instance, probability in probabilities.items():
        for sample in range(samples):
            passed = random.random() < probability
            status = "pass" if passed else "fail"
            records.append({"instance": instance, "sample": sample, "status": status, "tests": outcomes[passed]})
    return records


def make_benchmark(count: int) -> Benchmark:
    projects = [
        Project(name=f"p{n}", version="1", released=date(2026, 1, 1), path=".", license="MIT", environment="e",
                framework=random.choice(list(Framework)))
        for n in range(40)
    ]  # fmt: skip
    instances = [
        Instance(
            id=f"p{n % 40}/m.f{n}", path="m.py", qualname=f"f{n}", sha256="0" * 64, prompt="…", tests=("t",),
            introduced=date(random.randint(2018, 2026), 1, 2),
            labels=Labels(stage=random.choice(list(Stage)), task=random.choice(list(Task)), data=random.choice(list(Data))),
            measures=Measures(loc=random.randint(5, 100)),
        )
        for n in range(count)
    ]  # fmt: skip
    return Benchmark(Path(), Version(1, 0), {one.name: one for one in projects}, {one.id: one for one in instances}, {})


if __name__ == "__main__":
    main()
