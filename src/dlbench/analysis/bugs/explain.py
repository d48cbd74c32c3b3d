"""Why did the candidates of a run fail? Evidence for each, and what the rules make of it.

Does a library have what a candidate takes from it?

Asked of the project's own environment, for all candidates of a project at once: another version of a library may have
what this one lacks. Only libraries that the project's modules import themselves are imported here, and only names are
looked up; no candidate's code runs.
"""

import json
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dlbench.analysis.bugs.evidence import (
    Evidence,
    Failure,
    ModuleSource,
    collect,
    names_of,
    parse_candidate,
    read_module,
)
from dlbench.analysis.bugs.rules import Classified, classify
from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.target import TargetError, find_target
from dlbench.workspace import Prepared, prepared_if_ready

_SECONDS = 180
_ASK = """
import importlib, importlib.util, json, sys
given = json.load(sys.stdin)
missing = []
for path in given["wanted"]:
    top, *rest = path.split(".")
    try:
        if importlib.util.find_spec(top) is None:
            missing.append(path)
            continue
        if top not in given["allowed"]:
            continue
        here, name = importlib.import_module(top), top
        for part in rest:
            name += "." + part
            if not hasattr(here, part):
                importlib.import_module(name)
            here = getattr(here, part)
            if not isinstance(here, type(sys)):
                break
    except (ImportError, AttributeError):
        missing.append(path)
    except Exception:
        pass
print(json.dumps(missing))
"""


def find_missing(prepared: Prepared, wanted: Collection[str], allowed: Collection[str]) -> frozenset[str] | None:
    """The paths that are not there; None where the environment could not be asked."""
    if not wanted:
        return frozenset()
    try:
        asked = subprocess.run(
            [prepared.python, "-I", "-c", _ASK],
            input=json.dumps({"wanted": sorted(wanted), "allowed": sorted(allowed)}),
            cwd=prepared.tree,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
        return frozenset(json.loads(asked.stdout.strip().split("\n")[-1]))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


@dataclass(frozen=True)
class Explained:
    failure: Failure
    evidence: Evidence
    by_rules: Classified

    def as_record(self) -> dict[str, Any]:
        return {
            "run": self.failure.run,
            "instance": self.failure.instance.id,
            "sample": self.failure.verdict["sample"],
            **asdict(self.by_rules),
            "evidence": self.evidence.as_record(),
        }


class Library:
    """Modules of the projects that are prepared on this machine, each read once."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._prepared: dict[str, Prepared | None] = {}
        self._around: dict[str, ModuleSource | None] = {}

    def prepared(self, project: str) -> Prepared | None:
        if project not in self._prepared:
            self._prepared[project] = prepared_if_ready(self._benchmark.projects[project], self._benchmark.root)
        return self._prepared[project]

    def around(self, instance: Instance) -> ModuleSource | None:
        if instance.id not in self._around:
            self._around[instance.id] = self._read(instance)
        return self._around[instance.id]

    def _read(self, instance: Instance) -> ModuleSource | None:
        prepared = self.prepared(instance.project)
        if prepared is None:
            return None
        try:
            source = (prepared.tree / instance.path).read_text(encoding="utf-8")
            return ModuleSource(source, find_target(source, instance.qualname))
        except (OSError, UnicodeDecodeError, SyntaxError, TargetError):
            return None


def explain(
    failures: Sequence[Failure],
    library: Library | None,
    *,
    look_up: bool = True,
    on_done: Callable[[str], None] = lambda text: None,
) -> list[Explained]:
    """Without a library nothing is compared with references. `look_up`: ask environments which names they have."""
    missing = _look_up(failures, library) if library is not None and look_up else {}
    found = []
    for failure in failures:
        around = library.around(failure.instance) if library is not None else None
        evidence = collect(failure, around, missing.get(failure.instance.project))
        found.append(Explained(failure, evidence, classify(evidence)))
        on_done(failure.id)
    return found


def _look_up(failures: Iterable[Failure], library: Library) -> Mapping[str, Mapping[str, bool]]:
    """By project and path: is it missing? One question to each environment."""
    wanted: dict[str, set[str]] = {}
    allowed: dict[str, set[str]] = {}
    for failure in failures:
        around, project = library.around(failure.instance), failure.instance.project
        if around is None or failure.code is None or parse_candidate(failure.code) is None:
            continue
        try:
            names = names_of(failure.code, around.source)
        except RecursionError:  # the evidence says so
            continue
        wanted.setdefault(project, set()).update(names.wanted)
        tops = {path.partition(".")[0] for path in read_module(around.source).imports.values()}
        allowed.setdefault(project, set()).update(tops)
    found: dict[str, Mapping[str, bool]] = {}
    for project, paths in wanted.items():
        prepared = library.prepared(project)
        lacking = find_missing(prepared, paths, allowed[project]) if prepared is not None else None
        if lacking is not None:
            found[project] = {path: path in lacking for path in paths}
    return found
