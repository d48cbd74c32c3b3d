"""Explain the failures of a run: collect the evidence on each and classify it by the rules."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from dlbench.analysis.bugs.evidence import Evidence, Failure, ModuleSource, collect
from dlbench.analysis.bugs.names import find_candidate_names, find_missing, parse_candidate, read_module
from dlbench.analysis.bugs.rules import Classified, classify
from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.target import TargetError, find_target
from dlbench.workspace import Prepared, prepared_if_ready


@dataclass(frozen=True)
class Explanation:
    failure: Failure
    evidence: Evidence
    by_rules: Classified

    def as_record(self) -> dict[str, Any]:
        return {
            "run": self.failure.run,
            "instance": self.failure.instance.id,
            "sample": self.failure.verdict["sample"],
            **asdict(self.by_rules),
            "evidence": asdict(self.evidence),
        }


class ProjectModules:
    """Modules of the projects that are prepared on this machine; each is read once."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._prepared: dict[str, Prepared | None] = {}
        self._modules: dict[str, ModuleSource | None] = {}

    def find_prepared(self, project: str) -> Prepared | None:
        if project not in self._prepared:
            self._prepared[project] = prepared_if_ready(self._benchmark.projects[project], self._benchmark.root)
        return self._prepared[project]

    def find_module(self, instance: Instance) -> ModuleSource | None:
        prepared = self.find_prepared(instance.project)
        if prepared is not None and instance.id not in self._modules:
            self._modules[instance.id] = None
            with suppress(OSError, UnicodeDecodeError, SyntaxError, TargetError):
                source = (prepared.tree / instance.path).read_text(encoding="utf-8")
                self._modules[instance.id] = ModuleSource(source, find_target(source, instance.qualname))
        return self._modules.get(instance.id)


def explain(
    failures: Sequence[Failure],
    modules: ProjectModules | None,
    *,
    look_up: bool = True,
    on_done: Callable[[str], None] = lambda text: None,
) -> list[Explanation]:
    """Without `modules`, the evidence is what verdict and code say. `look_up`: query environments for names."""
    missing = _look_up(failures, modules) if modules is not None and look_up else {}
    found = []
    for failure in failures:
        module = modules.find_module(failure.instance) if modules is not None else None
        evidence = collect(failure, module, missing.get(failure.instance.project))
        found.append(Explanation(failure, evidence, classify(evidence)))
        on_done(failure.id)
    return found


def _look_up(failures: Sequence[Failure], modules: ProjectModules) -> dict[str, Collection[str] | None]:
    """By project, the library paths that its environment lacks. Each environment is queried once."""
    paths: defaultdict[str, set[str]] = defaultdict(set)
    importable: defaultdict[str, set[str]] = defaultdict(set)
    for failure in failures:
        module, project = modules.find_module(failure.instance), failure.instance.project
        if module is None or failure.code is None or parse_candidate(failure.code) is None:
            continue
        with suppress(RecursionError):  # the evidence notes it
            paths[project].update(find_candidate_names(failure.code, module.source).wanted)
            importable[project] |= {path.partition(".")[0] for path in read_module(module.source).imports.values()}
    return {
        project: find_missing(prepared, requested, importable[project])
        for project, requested in paths.items()
        if (prepared := modules.find_prepared(project)) is not None
    }
