"""The bugs that make candidates fail: the papers' taxonomy, the failures of a run, and rules that classify them.

The text of the 14 categories is ours (`categories.toml`). LLM judge and annotators work from the same definitions;
otherwise their agreement would mean nothing. Tests show a symptom and people name a cause: most errors (wrong values,
shapes that do not match, missing attributes) do not tell the category, so rules speak only where they agree with
people. `studies/bug_labels.py` measures these rules and the rejected ones on people's labels.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dlbench.dataset import Benchmark, Instance
from dlbench.errors import DLBenchError
from dlbench.execution.sample_judge import find_code
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Status


@dataclass(frozen=True)
class Category:
    slug: str
    name: str
    meaning: str
    seen: int
    """How often the paper counts it."""


@cache
def read_categories() -> Mapping[str, Category]:
    text = Path(__file__).with_name("categories.toml").read_text(encoding="utf-8")
    return {record["slug"]: Category(**record) for record in tomllib.loads(text)["category"]}


def check_category(name: object, where: str) -> str:
    known = read_categories()
    if not isinstance(name, str) or name not in known:
        raise DLBenchError(f"unknown category {name!r}", where=where, fix=f"use one of: {', '.join(known)}")
    return name


Key = tuple[str, int]
"""Instance and sample index."""


@dataclass(frozen=True)
class Failure:
    run: str
    instance: Instance
    verdict: Mapping[str, Any]
    code: str | None
    """None if the answer has no code or the run folder has no samples."""

    @property
    def key(self) -> Key:
        return self.instance.id, self.verdict["sample"]

    @property
    def id(self) -> str:
        return f"{self.run}:{self.instance.id}#{self.verdict['sample']}"

    @property
    def message(self) -> str:
        return str(self.verdict.get("message", ""))


@dataclass(frozen=True)
class RunFailures:
    failures: tuple[Failure, ...]
    harness_errors: int
    """Our faults; they are no bugs of the model and are left out."""
    unknown: int
    """Verdicts on instances that the benchmark does not have."""


def find_failures(
    run: str, benchmark: Benchmark, verdicts: Iterable[Mapping[str, Any]], samples: Mapping[Key, Sample]
) -> RunFailures:
    failures: list[Failure] = []
    harness_errors = unknown = 0
    for verdict in verdicts:
        instance = benchmark.instances.get(verdict["instance"])
        if instance is None:
            unknown += 1
        elif verdict["status"] == Status.HARNESS_ERROR:
            harness_errors += 1
        elif verdict["status"] != Status.PASS:
            sample = samples.get((instance.id, verdict["sample"]))
            code = find_code(sample, instance.qualname).code if sample else None
            failures.append(Failure(run, instance, verdict, code))
    return RunFailures(tuple(failures), harness_errors, unknown)


_IMPORT = re.compile(r"^(?:E\s+)?ImportError: cannot import name '(\w+)' from '([\w.]+)'", re.M)


@dataclass(frozen=True)
class Classified:
    category: str
    reason: str


def classify(failure: Failure) -> Classified | None:
    """None if no rule is reliable for this failure."""
    match failure.verdict["status"]:
        case Status.SYNTAX_ERROR:
            return Classified("syntax_error", "the code does not parse")
        case Status.NO_CODE | Status.MISSING_TARGET:
            return Classified("misinterpretation", "the answer does not define the requested function")
    target = re.escape(failure.instance.qualname.rpartition(".")[2])
    if re.search(rf"TypeError: (?:\w+\.)*{target}\(\) (?:missing|takes|got an unexpected)", failure.message):
        return Classified("misinterpretation", "the function does not accept the arguments it is called with")
    if found := _IMPORT.search(failure.message):
        return Classified("wrong_attribute", f"{found[2]} has no {found[1]}")
    return None
