"""Measure the size of a report page and the time until it can be used.

Synthetic runs have prompts, tests and code of realistic length; half of the lines of every sample are unique. A real
browser opens the page from a file, without a cache; the best of three times counts. Prints both as ratios to their goals.
`python perf/report.py [--runs N] [--instances N] [--samples N]`
"""

import argparse
import hashlib
import json
import random
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import sync_playwright
from scoring import make_benchmark

from dlbench.dataset import Benchmark
from dlbench.reporting import name_runs
from dlbench.reporting.candidates import read_candidates
from dlbench.reporting.pages import write_page
from dlbench.reporting.report_data import collect_report_data
from dlbench.runs import read_run

MEGABYTES, SECONDS = 15, 2
WORDS = (
    "tensor",
    "batch",
    "logits",
    "mask",
    "weight",
    "stride",
    "labels",
    "hidden",
    "scale",
    "index",
    "anchor",
    "boxes",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--instances", type=int, default=520)
    parser.add_argument("--samples", type=int, default=5)
    options = parser.parse_args()
    random.seed(0)
    benchmark, references = furnish(make_benchmark(options.instances))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number in range(options.runs):
            make_run(root / f"model-{number}", benchmark, references, options.samples)
        began = time.process_time()
        data = collect_report_data(name_runs([read_run(run) for run in sorted(root.iterdir())]), benchmark)
        candidates = {name: read_candidates(run, benchmark, public=False) for name, run in data.runs.items()}
        page = write_page(data, candidates, lambda instance: references[instance.id])
        print(f"made in {time.process_time() - began:.1f} s of the processor")
        path = root / "report.html"
        path.write_text(page, encoding="utf-8")
        size, seconds = path.stat().st_size / 1e6, min(open_page(path) for _ in range(3))
    print(f"size: {size:.2f} MB, {size / MEGABYTES:.2f} of {MEGABYTES} MB")
    print(f"open: {seconds:.2f} s, {seconds / SECONDS:.2f} of {SECONDS} s")


def furnish(benchmark: Benchmark) -> tuple[Benchmark, dict[str, str]]:
    """The benchmark with prompts of 1,200 characters, twelve tests each, and references of 18 lines."""
    instances, references = {}, {}
    for name, instance in benchmark.instances.items():
        references[name] = "\n".join([f"def {instance.name}(x):", *make_lines(18)])
        digest = hashlib.sha256(references[name].encode()).hexdigest()
        tests = tuple(
            f"tests/test_{make_text(1)}.py::test_{make_text(2).replace(' ', '_')}[{number}]" for number in range(12)
        )
        instances[name] = instance.model_copy(update={"sha256": digest, "prompt": make_text(190), "tests": tests})
    return replace(benchmark, instances=instances), references


def make_text(count: int) -> str:
    return " ".join(random.choices(WORDS, k=count))


def make_run(folder: Path, benchmark: Benchmark, references: dict[str, str], samples: int) -> None:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model": folder.name}))
    samples_made, judged = [], []
    for instance, reference in references.items():
        head, *lines = reference.split("\n")
        tests = benchmark.instances[instance].tests
        for sample in range(samples):
            changed = [make_lines(1)[0] if random.random() < 0.5 else line for line in lines]
            code = "\n".join([head, *changed])
            passed = random.random() < 0.3
            errors = {test: make_text(12) for test in tests[:5]}
            samples_made.append({"instance": instance, "sample": sample, "code": code})
            judged.append({
                "instance": instance, "sample": sample, "status": "pass" if passed else "fail",
                "tests": dict.fromkeys(tests, "passed" if passed else "failed"),
                "message": "" if passed else make_text(90), "errors": {} if passed else errors,
            })  # fmt: skip
    for name, records in (("samples.jsonl", samples_made), ("verdicts.jsonl", judged)):
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))


def make_lines(count: int) -> list[str]:
    def term() -> str:
        return f"{random.choice(WORDS)}_{random.randint(0, 99)}"

    return [f"    {term()} = {term()}.reshape({random.randint(1, 512)}, -1) * {term()}" for _ in range(count)]


def open_page(path: Path) -> float:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = started.new_page()
        page.goto("about:blank")
        began = time.monotonic()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        seconds = time.monotonic() - began
        started.close()
    return seconds


if __name__ == "__main__":
    main()
