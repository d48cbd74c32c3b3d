"""How long does it take to say why 5,000 candidates failed?

Bugs are planted into functions of dlbench's own source, made into failures without running anything, and explained: the
code parsed, names studied, compared with the reference, classified. No two candidates are the same text, so that no
cache helps. Environments are not asked. Prints seconds of the processor. `python perf/bugs.py [--failures N]`
"""

import argparse
import ast
import time
from collections import Counter
from datetime import date
from itertools import count
from pathlib import Path

import dlbench
from dlbench.analysis.bugs.evidence import Failure, ModuleSource, collect
from dlbench.analysis.bugs.planting.sow import inject_bugs
from dlbench.analysis.bugs.rules import classify
from dlbench.dataset import Instance, Labels
from dlbench.dataset.labels import Data, Stage, Task
from dlbench.dataset.target import find_target

SOURCES = (
    "execution/splice.py",
    "execution/pool.py",
    "generation/extract.py",
    "dataset/target.py",
    "scoring/intervals.py",
)
MESSAGES = (
    "tests/test_x.py:3: in test_x\nE   AssertionError: assert [1, 2] == [1, 3]",
    "tests/test_x.py:3: in test_x\nm.py:candidate:12: in f\nE   TypeError: f() got an unexpected keyword argument 'axis'",
    "tests/test_x.py:3: in test_x\nm.py:candidate:12: in f\nE   NameError: name 'helper' is not defined",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failures", type=int, default=5000)
    wanted = parser.parse_args().failures
    failures = make_failures(wanted)
    lines = sorted(len((failure.code or "").split("\n")) for failure, _ in failures)
    print(f"{len(failures)} failures, {lines[len(lines) // 2]} lines in the middle, {lines[-1]} at most")
    began = time.process_time()
    kinds = Counter(classify(collect(failure, around, {})).category for failure, around in failures)
    seconds = time.process_time() - began
    print(f"explained in {seconds:.1f} s, {1000 * seconds / len(failures):.1f} ms each: {dict(kinds.most_common())}")


def make_failures(wanted: int) -> list[tuple[Failure, ModuleSource]]:
    found: list[tuple[Failure, ModuleSource]] = []
    for seed in count():
        for name in SOURCES:
            source = (Path(dlbench.__file__).parent / name).read_text(encoding="utf-8")
            for node in ast.parse(source).body:
                if not isinstance(node, ast.FunctionDef):
                    continue
                instance, around = make_instance(node.name), ModuleSource(source, find_target(source, node.name))
                for plant in inject_bugs(instance, source, 4, seed):
                    number = len(found)
                    verdict = {
                        "sample": number,
                        "status": "fail",
                        "tests": {"t": "failed"},
                        "message": MESSAGES[number % 3],
                    }
                    code = f"{plant.code}\n# {number}\n"
                    found.append((Failure("made", instance, verdict, code, instance.prompt), around))
                    if len(found) == wanted:
                        return found
    raise AssertionError


def make_instance(name: str) -> Instance:
    labels = Labels(stage=Stage.TRAINING, task=Task.GENERAL, data=Data.OTHERS)
    prompt = "Do it; raise ValueError where it cannot be done, and begin at 0 or 1."
    return Instance(
        id=f"p/m.{name}", path="m.py", qualname=name, sha256="0" * 64, prompt=prompt, tests=("t",),
        introduced=date(2026, 1, 1), labels=labels,
    )  # fmt: skip


if __name__ == "__main__":
    main()
