"""Find pairs of releases, build one environment for both, and find the tests that a release's changes made pass.

Everything is dated by upload. A test counts as new behaviour only if it fails on the older release for a reason of its
own: test files are cut to single tests where the file as a whole cannot be imported there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from packaging.version import InvalidVersion, Version

from dlbench.construction import Row, WorkFolder
from dlbench.construction.collect import collect, set_up_and_collect
from dlbench.construction.pipeline import choose_cases
from dlbench.construction.project_spec import (
    ProjectSpec,
    find_tests,
    propose_project,
    read_project_requirements,
    write_record,
)
from dlbench.construction.release_changes import Changes
from dlbench.construction.selection.releases import fits
from dlbench.construction.selection.source_layout import find_layout
from dlbench.construction.task_construction import MOST_SECONDS, NotSuitable
from dlbench.construction.trace import Trace, TracedTest, open_trace_journal, trace
from dlbench.dataset import Project, load
from dlbench.dataset.merge import Units
from dlbench.dataset.records import strip_case
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.file_sets import open_tree
from dlbench.execution.release_files import cut_tests, make_tests, read_bytes, read_units, rename_tests
from dlbench.jsonl import write_whole
from dlbench.workspace import Prepared, prepare
from dlbench.workspace.home import Log
from dlbench.workspace.package_index import Package, Release
from dlbench.workspace.source import fetch

LEAST_TESTS = 3
"""New test functions of a release that is worth an environment."""
_CASES = 6
"""Of a parametrized test."""
_MOST_ALONE = 200
"""Test functions of one file that are tried alone."""
_LEAST_PASSING = 0.8
"""Share of the older release's tests that must pass on it: below, the environment does not suit it."""


@dataclass(frozen=True)
class Pair:
    project: str
    before: Release
    after: Release

    @property
    def name(self) -> str:
        return f"{self.project}-{self.after.version}"


def find_pairs(package: Package, since: date, until: date = date.max) -> list[Pair]:
    """Each final release uploaded in this time that has a source archive, with the final release before it by
    version."""
    archives: dict[Version, Release] = {}
    for release in package.releases:
        try:
            version = Version(release.version)
        except InvalidVersion:
            continue
        if release.kind == "sdist" and not version.is_prerelease and fits(release.requires_python):
            archives.setdefault(version, release)
    ordered = [archives[version] for version in sorted(archives)]
    pairs = (Pair(package.name, one, other) for one, other in pairwise(ordered))
    return [pair for pair in pairs if since <= pair.after.uploaded <= until and pair.after.is_dated]


class ReleasePair:
    """The two releases of a pair on this machine, and what their tests do."""

    def __init__(
        self,
        engine: Engine,
        work: WorkFolder,
        spec: ProjectSpec,
        pair: Pair,
        log: Log,
        *,
        workers: int,
        seconds: float,
    ) -> None:
        """`work`: a folder for this pair alone. `seconds`: of all tests of one release."""
        self.engine, self.work, self.pair, self.log = engine, work, pair, log
        self.workers, self.seconds = workers, seconds
        self.spec, self.name = replace(spec, version=""), pair.name
        self.root = work.root / "benchmark"

    @cached_property
    def projects(self) -> tuple[Project, Project]:
        """Both releases as projects; the environment is not built yet."""
        found = []
        for release in (self.pair.before, self.pair.after):
            root = self.root.parent / f"record-{release.version}"
            if not (root / "projects" / f"{self.pair.project}.toml").is_file():
                write_record(propose_project(replace(self.spec, version=release.version), root, self.log), root)
            found.append(load_alone(root))
        before, after = found
        if before.import_root != after.import_root:
            raise NotSuitable(f"its modules moved from {before.import_root} to {after.import_root}", self.name)
        return before, after

    @cached_property
    def trees(self) -> tuple[Path, Path]:
        before, after = self.projects
        return fetch(before, self.root, self.log), fetch(after, self.root, self.log)

    @cached_property
    def changes(self) -> Changes:
        return Changes(*self.trees, self.pair.project)

    @cached_property
    def test_files(self) -> list[str]:
        """Test files of the newer release that the older one does not have so."""
        before, after = self.trees
        found = find_tests(find_layout(after, self.pair.project).tests, self.spec)
        return [path for path in found if read_bytes(before / path) != read_bytes(after / path)]

    def examine(self) -> Row:
        """What a look at both archives shows. Raises NotSuitable if it cannot make a task."""
        tests = sum(len(self._list_new_tests(path)) for path in self.test_files)
        if not find_layout(self.trees[1], self.pair.project).tests:
            raise NotSuitable("the source archive contains no tests", self.name)
        if not self.changes.changed:
            raise NotSuitable("no module of its packages has changed", self.name)
        if tests < LEAST_TESTS:
            raise NotSuitable(f"{tests} new or changed test functions, fewer than {LEAST_TESTS}", self.name)
        return {"tests": tests, "units": len(self.changes.changed), "files": len(self.changes.files)}

    def _list_new_tests(self, path: str) -> set[str]:
        old, new = (_list_tests(read_units(tree / path)) for tree in self.trees)
        return {name for name, code in new.items() if old.get(name) != code}

    @cached_property
    def prepared(self) -> tuple[Prepared, Prepared]:
        """Both releases in one environment, with the requirements of both if they can be met together."""
        before, after = self.projects
        older = self.root.parent / "older"
        lock = older / "locks" / f"{before.environment}.txt"
        if not lock.is_file():
            own = read_project_requirements(self.trees[0], (), only_these=self.spec.only_these)
            spec = replace(self.spec, version=after.version, tests=tuple(self.test_files))
            both = replace(spec, requirements=tuple(dict.fromkeys((*spec.requirements, *own))))
            try:
                _, found = set_up_and_collect(self.engine, both, self.root, self.log)
            except DLBenchError as error:
                self.log(
                    f"{self.name}: the requirements of both releases: {error.what.splitlines()[0]}; newer ones alone"
                )
                _, found = set_up_and_collect(self.engine, spec, self.root, self.log)
            if not found.tests:
                raise NotSuitable(
                    f"pytest collects no test: {next(iter(found.explain().values()), '')[-300:]}", self.name
                )
            self.work.write("tests", ({"id": test} for test in found.tests))
            write_record(before, older)
            lock.parent.mkdir(parents=True, exist_ok=True)
            write_whole(lock, (self.root / "locks" / lock.name).read_text(encoding="utf-8"))
        return prepare(before, older, self.log), prepare(load_alone(self.root), self.root, self.log)

    def observe(self) -> tuple[Trace, Trace]:
        """The older release's tests on it, and the newer release's changed tests on that one."""
        before, after = self.prepared
        tests = [row["id"] for row in self.work.read("tests")]
        newer = self._trace("trace_after", after, choose_cases(tests, _CASES))
        files = find_tests(find_layout(before.tree, self.pair.project).tests, self.spec)
        near = [path for path in files if path in self.test_files]
        rest = [path for path in files if path not in near]
        if not self.work.has("older"):
            found = collect(self.engine, before, [*near, *rest])
            self.work.write("older", ({"id": test} for test in found.tests))
        cases = choose_cases([row["id"] for row in self.work.read("older")], _CASES)
        older = self._trace("trace_before", before, cases)
        ran = [test for test in older.tests if test.outcome != "skipped"]
        passed = [test for test in ran if test.outcome == "passed"]
        if ran and len(passed) < _LEAST_PASSING * len(ran):
            why = next(test.message for test in ran if test.outcome != "passed")
            what = f"{len(passed)} of {len(ran)} tests of {self.pair.before.version} pass on it: {why[-200:]}"
            raise NotSuitable(what, self.name)
        return older, newer

    def _trace(self, step: str, prepared: Prepared, tests: Sequence[str], *, profile: bool = True) -> Trace:
        """Run tests of a tree within the time. Resumes after a kill; a trace that has ended is only read."""
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        subject: Row = {"step": step, "pair": self.name, "tests": len(tests)}
        has_ended = self.work.has(f"{step}_ended")
        with open_trace_journal(self.work.path(step), subject) as journal:
            if not has_ended:
                self.log(f"{self.name}: {step}: running {len(tests)} tests; {len(journal.tests)} ran before")
            found = trace(
                self.engine, prepared, files, tests=tests, seconds=0 if has_ended else self.seconds,
                workers=self.workers, profile=profile, journal=journal,
            )  # fmt: skip
        self.work.write(f"{step}_ended", ())
        return found

    def find_failing(self, older: Trace, newer: Trace) -> list[TracedTest[int]]:
        """Tests of the newer release that pass there and fail on the older release for a reason of their own."""
        old = {path: _list_tests(read_units(self.trees[0] / path)) for path in self.test_files}
        new = {path: _list_tests(read_units(self.trees[1] / path)) for path in self.test_files}
        known = {test.id: test.outcome for test in older.tests}

        def is_candidate(test: TracedTest[int]) -> bool:
            path, _, name = strip_case(test.id).partition("::")
            is_same = name in new[path] and old[path].get(name) == new[path][name]
            return not is_same or known.get(test.id) in ("failed", "error")

        fast = [test for test in newer.tests if test.outcome == "passed" and test.seconds <= MOST_SECONDS]
        tests = [test for test in fast if is_candidate(test)]
        if not tests:
            raise NotSuitable(
                "every new test that ends in time also passes on the older release, or fails on both", self.name
            )
        passing = self._find_passing([test.id for test in tests])
        found = [test for test in tests if test.id not in passing]
        groups = {strip_case(test.id) for test in found}
        if len(groups) < LEAST_TESTS:
            what = f"{len(groups)} of its new test functions fail on the older release, fewer than {LEAST_TESTS}"
            raise NotSuitable(what, self.name)
        return found

    def _find_passing(self, tests: Sequence[str]) -> set[str]:
        """Those that pass on the older release. A file that cannot be imported there is divided into single tests."""
        if self.work.has("passing"):
            return {row["id"] for row in self.work.read("passing")}
        before, after = self.prepared
        names = {rename_tests(test): test for test in tests}
        files = make_tests(before.tree, after.tree, names, self.changes.packages)
        whole = self._run_on_older("trace_new", before, files, list(names))
        passing = {names[test.id] for test in whole.tests if test.outcome == "passed"}
        uncollected = {
            path for path in map(rename_tests, self.test_files) if path in {one["what"] for one in whole.left_out}
        }
        alone: dict[str, bytes | None] = {}
        singles: dict[str, str] = {}
        for path in self.test_files:
            groups = list(dict.fromkeys(strip_case(test) for test in tests if test.startswith(f"{path}::")))
            if rename_tests(path) not in uncollected or len(groups) == 1:
                continue
            untried = set(groups[_MOST_ALONE:])  # that they fail with the file proves nothing
            passing |= {test for test in tests if test.startswith(f"{path}::") and strip_case(test) in untried}
            for number, group in enumerate(groups[:_MOST_ALONE]):
                file = rename_tests(f"{path.removesuffix('.py')}_{number}.py")
                name = group.partition("::")[2]
                alone[file] = cut_tests(read_units(after.tree / path), {name}, self.changes.packages).encode()
                singles |= {f"{file}{test.removeprefix(path)}": test for test in tests if strip_case(test) == group}
        if alone:
            self.log(f"{self.name}: {len(alone)} tests of {len(uncollected)} files that cannot be imported, one by one")
            found = self._run_on_older("trace_alone", before, {**files, **alone}, list(singles))
            passing |= {singles[test.id] for test in found.tests if test.outcome == "passed"}
        self.work.write("passing", ({"id": test} for test in sorted(passing)))
        return passing

    def _run_on_older(
        self, step: str, before: Prepared, files: Mapping[str, bytes | None], tests: Sequence[str]
    ) -> Trace:
        with open_tree(before, files, self.engine.limits) as prepared:
            return self._trace(step, prepared, tests, profile=False)


def load_alone(root: Path) -> Project:
    """The one project of a benchmark folder."""
    (project,) = load(root).projects.values()
    return project


def _list_tests(module: Units) -> dict[str, str]:
    """The code of each test function, by `Class::name`."""
    found = {key.partition("#")[0].replace(".", "::"): unit for key, unit in module.by_key.items() if unit.is_function}
    return {name: unit.code for name, unit in found.items() if unit.name.startswith("test")}
