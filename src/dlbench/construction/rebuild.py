"""Make rebuild tasks out of a project: reduce packages to a skeleton, and find the tests that need what was removed.

The project's tests are traced once on the release. Definitions that run on import keep their bodies, because nothing
could be imported without them. A test counts if it passes five times on the release, in five orders, and fails on
the skeleton. Results of finished runs are kept in the work folder.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import groupby

from dlbench.construction.collect import collect, collect_part, is_test_code
from dlbench.construction.hidden_tests import hide_tests
from dlbench.construction.pipeline import Pipeline, choose_cases
from dlbench.construction.required_names import find_required_names
from dlbench.construction.selection.source_layout import find_layout
from dlbench.construction.trace import TracedTest
from dlbench.dataset.rebuild import LEAST_TESTS, Rebuild
from dlbench.dataset.skeleton import Module, Skeleton, hash_skeleton, reduce_tree
from dlbench.dataset.validation import module_of
from dlbench.errors import DLBenchError
from dlbench.execution.file_sets import looks_like_test, open_tree
from dlbench.execution.isolated_run import RunOptions, run_tests
from dlbench.execution.rebuild import RebuildTask
from dlbench.execution.rebuild_folder import find_copies
from dlbench.jsonl import Journal
from dlbench.runs.verdict import Outcome
from dlbench.workspace import Prepared

_SHUFFLES = (1, 2, 3, 4)
"""Seeds of the runs on the release after the first, which is traced."""
_ROUNDS = 20
"""Attempts to make a skeleton whose tests can be collected."""
_MOST_SECONDS = 10.0
"""Of one test."""
_TOTAL_SECONDS = 400.0
_CASES = (12, 6, 3, 1)
"""Cases of a parametrized test: fewer where all tests together take too long."""
_FRAME = re.compile(r"^(\S+\.py):(\d+): in ", re.MULTILINE)


class NotSuitable(DLBenchError):
    """These packages do not make a rebuild task."""


@dataclass(frozen=True)
class Unit:
    """Modules that are removed together."""

    name: str
    files: tuple[str, ...]


class RebuildConstruction:
    def __init__(self, pipeline: Pipeline, *, is_known: bool, seconds: float) -> None:
        """`is_known`: the project's record and lock exist, so that nothing is looked up on the index."""
        self.pipeline, self.is_known, self.seconds = pipeline, is_known, seconds
        self.engine, self.work, self.log, self.name = pipeline.engine, pipeline.work, pipeline.log, pipeline.name

    @property
    def prepared(self) -> Prepared:
        return self.pipeline.prepared

    def observe(self) -> None:
        """Collect and trace the tests on the release, and record what runs on import."""
        self._set_aside_other_release()
        if not self.work.has("collected", self.name):
            if self.is_known:
                self.pipeline.save_collected(collect_part(self.engine, self.prepared))
            else:
                self.pipeline.collect()
        if not self.work.has("trace", self.name):
            self.pipeline.trace(self.seconds)
        if not self.work.has("imported", self.name):
            self.log(f"{self.name}: tracing what runs on import")
            found = collect(self.engine, self.prepared, self._test_files, trace=True)
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
        return {test.id: test for test in tests if test.outcome == "passed" and test.seconds <= _MOST_SECONDS}

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

    def propose(self, least: int, most: int) -> list[Unit]:
        """Units of `least` to `most` lines: the whole import package if it fits, otherwise parts of it. Modules that no
        test reaches stay as they are."""
        reduced = self._skeleton.reduce(self._kept)
        ran = set().union(*self._reached[0].values()) & self._list_bodies(reduced) - self._kept
        reached = {name.partition("::")[0] for name in ran}
        sizes = {path: one.lines for path, one in reduced.items() if path in reached}
        units = propose_units(sizes, self.prepared.project.import_root, least, most)
        if not units:
            total = sum(sizes.values())
            what = f"{total} lines in modules that tests reach, and no part of them has {least} to {most}"
            raise NotSuitable(what, where=self.name, fix="pass another range as --lines")
        return units

    def _list_bodies(self, paths: Iterable[str]) -> set[str]:
        """The definitions of these modules that have a body to remove."""
        modules = self._skeleton.modules
        return {f"{path}::{one.qualname}" for path in paths for one in modules[path].definitions if not one.is_empty}

    def construct(self, unit: Unit, least: int, seed: int) -> Rebuild:
        """Raises NotSuitable with the reason if the unit makes no task."""
        tree = self.prepared.tree
        where = f"{self.name}/{unit.name}"
        kept, collected = self._find_kept(unit, where)
        files = [path for path, one in Skeleton(tree, unit.files).reduce(kept).items() if one.definitions]
        kept = {one for one in kept if one.partition("::")[0] in files}
        reduced = Skeleton(tree, files).reduce(kept)
        lines = sum(one.lines for one in reduced.values())
        if lines < least:
            what = f"{lines} lines are removed, fewer than {least}: {len(kept)} definitions run on import"
            raise NotSuitable(what, where=where, fix="pass a smaller range as --lines")
        tests = self._choose_tests(files, kept, collected, where)
        guards = _Guards(tuple(files))
        tests = self._keep_stable(tests, guards, where)
        texts = {path: one.text for path, one in reduced.items()}
        tests = self._keep_failing(tests, texts, guards, where)
        called = self._reached[1]
        hidden = hide_tests(tests, {test: called[test] & set(files) for test in tests}, seed)
        if len(hidden) < LEAST_TESTS:
            what = f"{len(tests)} tests need the removed code; {len(hidden)} can be hidden, fewer than {LEAST_TESTS}"
            raise NotSuitable(what, where=where, fix="choose packages with more tests")
        visible = [test for test in tests if test not in hidden]
        record = Rebuild(
            id=where,
            project=self.name,
            version=self.prepared.project.version,
            files=tuple(files),
            kept=tuple(sorted(kept)),
            visible=tuple(visible),
            hidden=tuple(test for test in tests if test in hidden),
            required_names=tuple(find_required_names(tree, texts, visible, hidden)),
            lines=lines,
            definitions=sum(one.definitions for one in reduced.values()),
            seconds=round(sum(self._traced[test].seconds for test in tests), 2),
            sha256=hash_skeleton(texts),
        )
        for copy in find_copies(RebuildTask(record, self.prepared)):
            raise NotSuitable(
                f"the answer is elsewhere in the release: {copy}", where=where, fix="choose other packages"
            )
        return record

    def _find_kept(self, unit: Unit, where: str) -> tuple[set[str], set[str]]:
        """The definitions that must keep their bodies, and the tests that pytest collects on the skeleton."""
        tree = self.prepared.tree
        bodies = self._list_bodies(unit.files)
        kept = self._kept & bodies
        for _ in range(_ROUNDS):
            texts = reduce_tree(tree, unit.files, kept)
            self.log(f"{where}: collecting the tests on the skeleton; {len(kept)} definitions keep their bodies")
            with open_tree(self.prepared, _encode(texts), self.engine.limits) as prepared:
                found = collect(self.engine, prepared, self._test_files)
            new = {name for why in found.errors.values() for name in _find_definitions(why, texts)} & bodies
            if new <= kept:
                break
            kept |= new
        if not found.tests:
            errors = [*found.errors.values(), found.why]
            what = f"no test can be collected on the skeleton: {errors[0][-600:]}"
            raise NotSuitable(what, where=where, fix="choose other packages")
        return kept, set(found.tests)

    def _choose_tests(self, files: list[str], kept: set[str], collected: set[str], where: str) -> list[str]:
        """Tests that ran what is removed; of parametrized tests fewer cases, if all take too long."""
        ran = self._reached[0]
        inside = set(files)
        found = [
            test
            for test in self._traced
            if test in collected and any(one.partition("::")[0] in inside and one not in kept for one in ran[test])
        ]
        for most in _CASES:
            chosen = choose_cases(found, most)
            if sum(self._traced[test].seconds for test in chosen) <= _TOTAL_SECONDS:
                break
        self.log(f"{where}: {len(chosen)} of {len(self._traced)} tests ran what is removed")
        return [test for test in found if test in set(chosen)]

    def _keep_stable(self, tests: list[str], guards: "_Guards", where: str) -> list[str]:
        """The tests that pass in every order under the guards of an answer, which learn from the first order."""
        for seed in _SHUFFLES:
            what = f"{where}: running {len(tests)} tests on the release, order {seed}"
            outcomes = self._run(tests, {}, guards, what, seed)
            tests = [test for test in tests if outcomes[test] == Outcome.PASSED]
        return tests

    def _keep_failing(self, tests: list[str], texts: Mapping[str, str], guards: "_Guards", where: str) -> list[str]:
        outcomes = self._run(tests, texts, guards, f"{where}: running {len(tests)} tests on the skeleton")
        failing = (Outcome.FAILED, Outcome.ERROR)
        return [test for test in tests if outcomes[test] in failing]

    def _run(
        self, tests: Sequence[str], texts: Mapping[str, str], guards: "_Guards", what: str, seed: int | None = None
    ) -> dict[str, str]:
        """The outcomes of these tests with these modules; known ones if this was run before."""
        facts = [self.prepared.tree.parent.name, self.prepared.environment.name, hash_skeleton(texts), seed]
        key = sha256(json.dumps([*facts, *guards.files, *tests]).encode()).hexdigest()[:32]
        with Journal(self.work.path("rebuild_runs", self.name)) as journal:
            known = {row["key"]: row for row in journal.records()}
            if key not in known:
                self.log(what)
                options = RunOptions(
                    workers=self.pipeline.workers,
                    answer=guards.files,
                    allowed=tuple(sorted(guards.allowed)),
                    learn=seed == _SHUFFLES[0],
                    expected={test: self._traced[test].seconds for test in tests},
                    shuffle=seed,
                )
                with open_tree(self.prepared, _encode(texts), self.engine.limits) as prepared:
                    run = run_tests(self.engine, prepared, tests, options)
                if run.failure or run.tampered:
                    fix = "choose another project"
                    raise NotSuitable(f"its tests cannot be judged: {run.failure or run.tampered}", where=what, fix=fix)
                outcomes = {test: str(outcome) for test, outcome in run.outcomes.items()}
                known[key] = {"key": key, "what": what, "outcomes": outcomes, "learned": sorted(run.learned)}
                journal.append(known[key] | {"messages": run.messages})
        guards.allowed.update(known[key]["learned"])
        return dict(known[key]["outcomes"])


@dataclass
class _Guards:
    """The files of an answer, and what the release's own code in them does that an answer may do too."""

    files: tuple[str, ...]
    allowed: set[str] = field(default_factory=set)


def _encode(texts: Mapping[str, str]) -> dict[str, bytes | None]:
    return {path: text.encode() for path, text in texts.items()}


def _find_definitions(traceback: str, texts: Mapping[str, str]) -> Iterator[str]:
    """The definition of the skeleton that raised an error, if the traceback shows one."""
    frames = [(path, int(line)) for path, line in _FRAME.findall(traceback) if path in texts]
    for path, line in frames[-1:]:
        if qualname := Module(texts[path]).find(line):
            yield f"{path}::{qualname}"


def propose_units(sizes: Mapping[str, int], import_root: str, least: int, most: int) -> list[Unit]:
    """`sizes`: lines of each module. Modules and subpackages next to each other are joined up to `most` lines."""
    depth = 0 if import_root == "." else len(import_root.split("/"))

    def divide(paths: list[str], depth: int) -> Iterator[list[list[str]]]:
        """Groups of parts; a part is one module, or all modules of a folder."""
        parts = [list(part) for _, part in groupby(sorted(paths), lambda path: path.split("/")[depth])]
        group: list[list[str]] = []
        for part in parts:
            size = sum(sizes[path] for path in part)
            if size > most:
                if len(part) > 1:
                    yield from divide(part, depth + 1)
                continue
            if sum(sizes[path] for one in group for path in one) + size > most:
                yield group
                group = []
            group.append(part)
        yield group

    found = []
    for group in divide(list(sizes), depth):
        files = tuple(path for part in group for path in part)
        if sum(sizes[path] for path in files) >= least:
            found.append(Unit(_name_unit(group, import_root), files))
    return found


def _name_unit(group: list[list[str]], import_root: str) -> str:
    names = []
    for part in group:
        modules = [module_of(path, import_root).split(".") for path in part]
        same = [set(level) for level in zip(*modules, strict=False)]
        names.append(".".join(one.pop() for one in same if len(one) == 1))
    whole = [name for name in names if name]
    shown = [whole[0], *(name.rpartition(".")[2] for name in whole[1:3])]
    return f"rebuild-{'+'.join(shown)}{f'+{len(whole) - 3}' if len(whole) > 3 else ''}"
