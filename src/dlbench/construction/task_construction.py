"""Observe a project's tests, and find those that need a part of its code: what all tasks of many files are made from.

The tests are traced once on the release, and run in up to four other orders; a test counts if it passes every time.
Definitions that run on import keep their bodies, because nothing could be imported without them. Results of finished
runs are kept in the work folder.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dlbench.construction import Row
from dlbench.construction.collect import Collected, collect, collect_part, is_test_code
from dlbench.construction.kept_runs import KeptRun, KeptRuns
from dlbench.construction.pipeline import Pipeline
from dlbench.construction.required_names import find_required_names
from dlbench.construction.selection.source_layout import find_layout
from dlbench.construction.trace import TracedTest, name_group
from dlbench.dataset.skeleton import Module, Reduction, Skeleton, hash_skeleton
from dlbench.errors import DLBenchError
from dlbench.execution.file_sets import looks_like_test, open_tree
from dlbench.execution.isolated_run import RunOptions
from dlbench.workspace import Prepared

SHUFFLES = (1, 2, 3, 4)
"""Seeds of the runs on the release after the first, which is traced."""
_ROUNDS = 20
"""Attempts to make a skeleton whose tests can be collected."""
_CASES = 4
"""Of a parametrized test."""
MOST_SECONDS = 10.0
"""Of one test."""
TEST_SECONDS = 120.0
"""Of all chosen tests of a project."""
_FRAME = re.compile(r"^(\S+\.py):(\d+): in ", re.MULTILINE)


class NotSuitable(DLBenchError):
    """This code does not make a task; the message is recorded."""

    def __init__(
        self, what: str, where: str = "", fix: str = "choose other code or another project, or add tests"
    ) -> None:
        super().__init__(what, where=where, fix=fix)


@dataclass(frozen=True)
class Unit:
    """Code that is removed together."""

    name: str
    files: tuple[str, ...]
    asked: tuple[str, ...] = ()
    """`path::qualname` of the definitions that lose their bodies; by default all of the files."""


class TaskConstruction:
    least_tests = 1

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        is_known: bool,
        seconds: float,
        test_seconds: float = TEST_SECONDS,
        orders: int = 1 + len(SHUFFLES),
    ) -> None:
        """`is_known`: the project's record and lock exist, so that nothing is looked up on the index. `seconds`: of the
        trace. `test_seconds`: of all chosen tests. `orders`: in which they must pass, the trace included."""
        self.pipeline, self.is_known, self.seconds, self.test_seconds = pipeline, is_known, seconds, test_seconds
        self.shuffles = SHUFFLES[: max(1, orders - 1)]
        self.engine, self.work, self.log, self.name = pipeline.engine, pipeline.work, pipeline.log, pipeline.name

    @property
    def prepared(self) -> Prepared:
        return self.pipeline.prepared

    def observe(self) -> None:
        """Collect and trace the tests on the release, and record what runs on import."""
        self._set_aside_other_release()
        if not self.work.has("collected", self.name):
            if self.is_known:
                self.log(f"{self.name}: collecting the tests, and tracing what runs on import")
                found = collect_part(self.engine, self.prepared, trace=True)
                self.pipeline.save_collected(found)
                self._save_imported(found)
            else:
                self.pipeline.collect()
        if not self.work.has("trace", self.name):
            self.pipeline.trace(self.seconds, _CASES)
        if not self.work.has("imported", self.name):
            self.log(f"{self.name}: tracing what runs on import")
            self._save_imported(collect(self.engine, self.prepared, self._test_files, trace=True))

    def _save_imported(self, found: Collected) -> None:
        self.work.write("imported", ({"path": path, "line": line} for path, line in sorted(found.ran)), self.name)

    def _set_aside_other_release(self) -> None:
        if not self.is_known:
            self.pipeline.set_aside_other_release()
            return
        release = [{"release": self.prepared.tree.parent.name}]
        if self.work.has("release", self.name) and self.work.read("release", self.name) != release:
            aside = self.work.set_aside(self.name, "earlier")
            self.log(f"{self.name}: moved the results of another release to {aside}")
        self.work.write("release", release, self.name)

    @cached_property
    def _test_files(self) -> list[str]:
        tests = [row["id"] for row in self.work.read("collected", self.name)]
        return list(dict.fromkeys(test.partition("::")[0] for test in tests))

    @cached_property
    def _traced(self) -> dict[str, TracedTest[int]]:
        """Tests that passed quickly enough."""
        tests = self.pipeline.read_trace().tests
        return {test.id: test for test in tests if test.outcome == "passed" and test.seconds <= MOST_SECONDS}

    @cached_property
    def _reached(self) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
        """For each traced test the definitions (`path::qualname`) that it ran, and the modules that it called."""
        modules = self._skeleton.modules
        names = []
        for path, line, _ in self.pipeline.read_trace().functions:
            qualname = modules[path].find(line) if path in modules else ""
            names.append(f"{path}::{qualname}" if qualname else "")
        ran = {key: {names[one] for one in (*test.direct, *test.deeper)} - {""} for key, test in self._traced.items()}
        called = {
            key: {names[one].partition("::")[0] for one in test.direct} - {""} for key, test in self._traced.items()
        }
        return ran, called

    @cached_property
    def _skeleton(self) -> Skeleton:
        """All modules of the packages, reduced; without those that tests judge by, since an answer would write them."""
        tree = self.prepared.tree
        ran = {path for path, *_ in self.pipeline.read_trace().functions}
        modules = find_layout(tree, self.name).modules
        asked = [path for path in modules if path in ran and not is_test_code(path) and not looks_like_test(path)]
        return Skeleton(tree, asked)

    @cached_property
    def _kept(self) -> set[str]:
        modules = self._skeleton.modules
        rows = [row for row in self.work.read("imported", self.name) if row["path"] in modules]
        found = ((row["path"], modules[row["path"]].find(row["line"])) for row in rows)
        return {f"{path}::{qualname}" for path, qualname in found if qualname}

    def _list_bodies(self, unit: Unit) -> set[str]:
        """The definitions of the unit that have a body to remove."""
        modules, found = self._skeleton.modules, set()
        for path in unit.files:
            asked = [one.partition("::")[2] for one in unit.asked if one.partition("::")[0] == path]
            inside = modules[path].list_inside(asked) if unit.asked else ()
            bodies = (one.qualname for one in modules[path].definitions if not one.is_empty)
            found |= {f"{path}::{name}" for name in bodies if not unit.asked or name in inside}
        return found

    def _reduce(self, unit: Unit, where: str) -> tuple[set[str], dict[str, str]]:
        """The definitions that must keep their bodies, and the outcomes of stable tests without the others."""
        kept = self._kept & self._list_bodies(unit)
        tests = self._find_tests(unit, kept, where)
        run = self._run_skeleton(unit, kept, tests, where)
        if not run.is_collected:
            kept, collected = self._find_kept(unit, kept, where)
            tests = [test for test in self._find_tests(unit, kept, where) if test in collected]
            run = self._run_skeleton(unit, kept, tests, where)
        return kept, run.outcomes

    def _cut(self, unit: Unit, kept: set[str]) -> dict[str, Reduction]:
        """The unit's modules that lose a body, reduced."""
        raise NotImplementedError

    def _find_kept(self, unit: Unit, kept: set[str], where: str) -> tuple[set[str], set[str]]:
        """The definitions that must keep their bodies besides, and the tests that pytest collects on the skeleton."""
        bodies = self._list_bodies(unit)
        for _ in range(_ROUNDS):
            texts = {path: one.text for path, one in self._cut(unit, kept).items()}
            self.log(f"{where}: collecting the tests on the skeleton; {len(kept)} definitions keep their bodies")
            with open_tree(self.prepared, _encode(texts), self.engine.limits) as prepared:
                found = collect(self.engine, prepared, self._test_files)
            new = {name for why in found.errors.values() for name in _find_definitions(why, texts)} & bodies
            if new <= kept:
                break
            kept = kept | new
        if not found.tests:
            errors = [*found.errors.values(), found.why]
            what = f"no test can be collected on the skeleton: {errors[0][-600:]}"
            raise NotSuitable(what, where=where)
        return kept, set(found.tests)

    def _find_tests(self, unit: Unit, kept: set[str], where: str) -> list[str]:
        """The stable tests that ran what is removed."""
        ran, removed = self._reached[0], self._list_bodies(unit) - kept
        found = [test for test in self._stable.tests if ran[test] & removed]
        self.log(f"{where}: {len(found)} of {len(self._stable.tests)} stable tests ran what is removed")
        if len(found) < self.least_tests:
            what = f"{len(found)} tests need the removed code, fewer than {self.least_tests}"
            raise NotSuitable(what, where=where)
        return found

    @cached_property
    def _stable(self) -> "_Stable":
        """The tests that pass in every order under the guards of an answer, which learn from the first order."""
        found = _Stable(choose_within(list(self._traced.values()), self.test_seconds))
        files = tuple(self._skeleton.modules)
        for seed in self.shuffles:
            what = f"{self.name}: running {len(found.tests)} tests on the release, order {seed}"
            run = self._run(found.tests, {}, files, found.allowed, what, seed)
            found = _Stable([test for test in found.tests if run.passed(test)], (*found.allowed, *run.learned))
        return found

    def _run_skeleton(self, unit: Unit, kept: set[str], tests: list[str], where: str) -> KeptRun:
        texts = {path: one.text for path, one in self._cut(unit, kept).items()}
        what, allowed = f"{where}: running {len(tests)} tests on the skeleton", self._stable.allowed
        try:
            return self._run(tests, texts, texts, allowed, what)
        except NotSuitable:  # accesses inside the whole become accesses from outside
            release = f"{where}: running {len(tests)} tests on the release"
            learned = self._run(tests, {}, texts, allowed, release, SHUFFLES[0]).learned
            return self._run(tests, texts, texts, {*allowed, *learned}, what)

    def _run(
        self,
        tests: Sequence[str],
        texts: Mapping[str, str],
        answer: Collection[str],
        allowed: Collection[str],
        what: str,
        seed: int | None = None,
    ) -> KeptRun:
        """What these tests did with these modules. `answer`: the files that are guarded; the first order learns."""
        options = RunOptions(
            answer=tuple(answer), allowed=tuple(sorted(allowed)), learn=seed == SHUFFLES[0], shuffle=seed
        )
        runs = KeptRuns(self.engine, self.work.path("runs", self.name), self.log, self.pipeline.workers)
        seconds = {test: self._traced[test].seconds for test in tests}
        run = runs.run(what, self.prepared, _encode(texts), tests, options, seconds)
        if run.tampered:
            raise NotSuitable(f"its tests cannot be judged: {run.tampered}", where=what)
        return run

    def _describe(self, where: str, reduced: Mapping[str, Reduction], shown: list[str], hidden: list[str]) -> Row:
        """The facts that the records of all kinds have."""
        texts = {path: one.text for path, one in reduced.items()}
        return {
            "id": where,
            "project": self.name,
            "version": self.prepared.project.version,
            "files": list(texts),
            "hidden": hidden,
            "required_names": find_required_names(self.prepared.tree, texts, shown, hidden),
            "lines": sum(one.lines for one in reduced.values()),
            "definitions": sum(one.definitions for one in reduced.values()),
            "seconds": round(sum(self._traced[test].seconds for test in (*hidden, *shown)), 2),
            "sha256": hash_skeleton(texts),
        }


@dataclass(frozen=True)
class _Stable:
    """Tests, and what the release's own code does under the guards that an answer may do too."""

    tests: list[str]
    allowed: tuple[str, ...] = ()


def choose_within(tests: Sequence[TracedTest[int]], seconds: float) -> list[str]:
    """Tests that take so long together: first one case of each test, the fastest first, then a second one of each."""
    cases: Counter[str] = Counter()
    ranked = []
    for test in tests:
        group = name_group(test.id)
        ranked.append((cases[group], test.seconds, test.id))
        cases[group] += 1
    chosen = set()
    for _, cost, test_id in sorted(ranked):
        seconds -= cost
        if seconds < 0:
            break
        chosen.add(test_id)
    return [test.id for test in tests if test.id in chosen]


def _encode(texts: Mapping[str, str]) -> dict[str, bytes | None]:
    return {path: text.encode() for path, text in texts.items()}


def _find_definitions(traceback: str, texts: Mapping[str, str]) -> Iterator[str]:
    """The definition of the skeleton that raised an error, if the traceback shows one."""
    frames = [(path, int(line)) for path, line in _FRAME.findall(traceback) if path in texts]
    for path, line in frames[-1:]:
        if qualname := Module(texts[path]).find(line):
            yield f"{path}::{qualname}"
