"""Why did the candidates of a run fail? Evidence for each, and what the rules make of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dlbench.analysis.bugs.evidence import Around, Evidence, collect, names_of, parse
from dlbench.analysis.bugs.failures import Failure
from dlbench.analysis.bugs.look_up import find_missing
from dlbench.analysis.bugs.naming import read_module
from dlbench.analysis.bugs.rules import Classified, classify
from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.target import TargetError, find_target
from dlbench.workspace import Prepared, prepared_if_ready


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
        self._around: dict[str, Around | None] = {}

    def prepared(self, project: str) -> Prepared | None:
        if project not in self._prepared:
            self._prepared[project] = prepared_if_ready(self._benchmark.projects[project], self._benchmark.root)
        return self._prepared[project]

    def around(self, instance: Instance) -> Around | None:
        if instance.id not in self._around:
            self._around[instance.id] = self._read(instance)
        return self._around[instance.id]

    def _read(self, instance: Instance) -> Around | None:
        prepared = self.prepared(instance.project)
        if prepared is None:
            return None
        try:
            source = (prepared.tree / instance.path).read_text(encoding="utf-8")
            return Around(source, find_target(source, instance.qualname))
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
        if around is None or failure.code is None or parse(failure.code) is None:
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
