"""A run of the toy project that can be submitted, with its samples."""

import hashlib
import json
from pathlib import Path

from dlbench.dataset import Benchmark
from dlbench.reporting.leaderboard.entry import Entry, make_entry
from dlbench.runs import read_run

SCALE, STEP = "toy/toy.core.scale", "toy/toy.core.Counter.step"
RIGHT = {
    SCALE: "def scale(values, factor=2):\n    if not factor:\n        raise ValueError\n    return [v * factor for v in values]\n",
    STEP: "def step(self, by=1):\n    self.count += by\n    return self.count\n",
}
WRONG = {
    SCALE: "def scale(values, factor=2):\n    return [v * 2 for v in values]\n",
    STEP: "def step(self, by=1):\n    return 1\n",
}
SETTINGS = {"model": "m", "technique": "zero-shot", "temperature": 0.3, "benchmark": "1.0", "dlbench": "0.1.0"}
OUTCOMES = {  # of the wrong answers: whether each test passes
    SCALE: [False, True, False, True, False],
    STEP: [True, False],
}


def write_run(folder: Path, benchmark: Benchmark, marks: dict[str, str], /, **settings: object) -> Path:
    """`marks`: for each instance a character a sample, 1 right and 0 wrong. The verdicts are those that the engine gives."""
    folder.mkdir(parents=True)
    samples, verdicts = [], []
    for instance, each in marks.items():
        for number, mark in enumerate(each):
            answer = (RIGHT if mark == "1" else WRONG)[instance] + f"# {number}\n"
            passed = [mark == "1" or one for one in OUTCOMES[instance]]
            tests = {
                test: "passed" if ok else "failed"
                for test, ok in zip(benchmark.instances[instance].tests, passed, strict=True)
            }
            key = {"instance": instance, "sample": number}
            samples.append(key | {"answer": answer})
            status = "pass" if mark == "1" else "fail"
            sha256 = hashlib.sha256(answer.encode()).hexdigest()
            verdicts.append(key | {"status": status, "tests": tests, "answer_sha256": sha256})
    (folder / "config.json").write_text(json.dumps(SETTINGS | settings))
    for name, records in (("samples", samples), ("verdicts", verdicts)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def submit(folder: Path, benchmark: Benchmark, marks: dict[str, str], /, **settings: object) -> Entry:
    return make_entry(
        read_run(write_run(folder, benchmark, marks, **settings)), benchmark, "https://example.org/s.jsonl"
    )
