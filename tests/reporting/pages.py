"""Run folders over a small synthetic benchmark, and the pages made from them."""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from dlbench.dataset import Benchmark
from dlbench.reporting import name_runs
from dlbench.reporting.candidates import read_candidates
from dlbench.reporting.pages import write_browser, write_page
from dlbench.reporting.report_data import ReportData, collect_report_data
from dlbench.runs import read_run
from tests.scoring.made import make_benchmark

HOSTILE = "</script><img src=x onerror=\"window.hacked='{0}'\"><script>window.hacked='{0}'</script>"
SECRET = "return only_in_the_reference(x)"
PROMPT = "Turn a tensor around; `None` is refused. <b>No markup.</b>"


def reference(number: int) -> str:
    return f'def f{number}(x):\n    """Says what it does."""\n    y = x + {number}\n    {SECRET}'


def benchmark_of(instances: int = 6) -> Benchmark:
    """As `make_benchmark`, with references that can be read and prompts one can search."""
    made = make_benchmark(instances)
    changed = {}
    for number, (name, instance) in enumerate(made.instances.items()):
        digest = hashlib.sha256(reference(number).encode()).hexdigest()
        facts = {
            "sha256": digest,
            "prompt": PROMPT if number == 3 else f"The prompt of {number}.",
            "tests": ("t::one", "t::two"),
        }
        changed[name] = instance.model_copy(update=facts)
    return replace(made, instances=changed)


def read_module(instance) -> str:
    return "import torch\n\n\n" + reference(int(instance.name[1:])) + "\n"


@dataclass(frozen=True)
class World:
    root: Path
    benchmark: Benchmark

    def write_run(self, name: str, marks: str, *, samples: int = 2, code: str = "", **config: object) -> Path:
        """`marks`: one character an instance: 1 passes, 0 fails, e an error, t a timeout, n no code, c is cut off."""
        folder = self.root / hashlib.sha256(name.encode()).hexdigest()[:8]
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"model": name, "benchmark": "1.0"} | config))
        answers, verdicts = [], []
        for number, (instance, mark) in enumerate(zip(self.benchmark.instances, marks, strict=True)):
            for sample in range(samples):
                names = {"1": "pass", "0": "fail", "e": "error", "t": "timeout", "n": "no_code", "c": "syntax_error"}
                status = names[mark]
                written = code or f"def f{number}(x):\n    # {name}, {sample}\n    y = x + {number}\n    return y\n"
                answer = "I cannot." if mark == "n" else f"```python\n{written}\n```"
                answers.append(
                    {"instance": instance, "sample": sample, "answer": answer, "usage": {"completion_tokens": 50}}
                )
                outcomes = {"1": ("passed", "passed"), "0": ("passed", "failed")}.get(mark, ("not_run", "not_run"))
                verdict = {"instance": instance, "sample": sample, "status": status}
                verdict |= {
                    "tests": dict(zip(("t::one", "t::two"), outcomes, strict=True)),
                    "seconds": 0.5,
                    "memory_mb": 80.0,
                }
                if mark == "n":
                    verdict["message"] = "the answer holds no Python code"
                elif mark == "t":
                    verdict["message"] = "no verdict within 60 s"
                elif mark == "c":
                    verdict |= {"message": "SyntaxError: …; the answer is cut off", "truncated": True}
                elif mark != "1":
                    verdict["message"] = f"t.py:3: in two\n    {SECRET}\nE   ValueError: " + HOSTILE.format("message")
                if mark == "0":
                    verdict["errors"] = {"t::two": "ValueError: " + HOSTILE.format("error")}
                elif mark == "t":  # what failed before it was stopped is told as well
                    verdict["errors"] = {"t::one": f"AssertionError: {SECRET}"}
                verdicts.append(verdict)
        for file, records in (("samples.jsonl", answers), ("verdicts.jsonl", verdicts)):
            (folder / file).write_text("".join(json.dumps(record) + "\n" for record in records))
        return folder

    def collect(self, *folders: Path) -> ReportData:
        return collect_report_data(name_runs([read_run(folder) for folder in folders]), self.benchmark)

    def page(self, *folders: Path, public: bool = False, prepared: bool = True) -> str:
        data = self.collect(*folders)
        found = {name: read_candidates(run, self.benchmark, public=public) for name, run in data.runs.items()}
        return write_page(data, found, read_module if prepared else lambda instance: None, public=public)

    def browser(self, *, public: bool = False) -> str:
        return write_browser(self.benchmark, list(self.benchmark.instances.values()), read_module, public=public)


def make_world(root: Path) -> World:
    return World(root, benchmark_of())
