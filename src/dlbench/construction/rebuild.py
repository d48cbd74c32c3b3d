"""Make rebuild tasks out of a project: reduce packages to a skeleton, and hide half of the tests that need them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from dlbench.construction.hidden_tests import hide_tests
from dlbench.construction.required_names import find_expected_errors, find_tests_of
from dlbench.construction.task_construction import NotSuitable, TaskConstruction, Unit
from dlbench.dataset.file_task import LEAST_TESTS, FileTask, Rebuild
from dlbench.dataset.skeleton import Reduction, Skeleton
from dlbench.dataset.validation import module_of
from dlbench.execution.file_task import OpenTask
from dlbench.execution.task_folder import list_copies
from dlbench.execution.task_tests import name_functions
from dlbench.runs.verdict import Outcome

_MOST_TEXT = 200
"""Characters of a text that is told; tests of longer ones are dropped."""


class RebuildConstruction(TaskConstruction):
    least_tests = LEAST_TESTS

    def propose(self, least: int, most: int, existing: Iterable[FileTask] = ()) -> list[Unit]:
        """Units of `least` to `most` lines: the whole import package if it fits, otherwise parts of it. Modules that no
        stable test reaches, and those of existing tasks of another size, stay as they are."""
        others = [one for one in existing if one.project == self.name and not least <= one.lines <= most]
        taken = {path for one in others for path in one.files}
        reduced = self._skeleton.reduce(self._kept)
        bodies = self._list_bodies(Unit("", tuple(reduced))) - self._kept

        def divide(tests: Iterable[str]) -> list[Unit]:
            ran = set().union(*(self._reached[0][test] for test in tests)) & bodies
            reached = {name.partition("::")[0] for name in ran} - taken
            sizes = {path: one.lines for path, one in reduced.items() if path in reached}
            units = propose_units(sizes, self.prepared.project.import_root, least, most)
            if not units:
                total = sum(sizes.values())
                what = f"{total} lines in modules that tests reach, and no part of them has {least} to {most}"
                raise NotSuitable(what, where=self.name, fix="pass another range as --lines")
            return units

        divide(self._traced)  # before the tests run in other orders needlessly
        return divide(self._stable.tests)

    def construct(self, unit: Unit, least: int, seed: int) -> Rebuild:
        """Raises NotSuitable with the reason if the unit makes no task."""
        where = f"{self.name}/{unit.name}"
        kept, outcomes = self._reduce(unit, where)
        tests = [test for test, outcome in outcomes.items() if outcome in (Outcome.FAILED, Outcome.ERROR)]
        reduced = self._cut(unit, kept)
        lines = sum(one.lines for one in reduced.values())
        if lines < least:
            what = f"{lines} lines are removed, fewer than {least}: {len(kept)} definitions run on import"
            raise NotSuitable(what, where=where, fix="pass a smaller range as --lines")
        called = self._reached[1]
        functions = name_functions(tests, lambda path: (self.prepared.tree / path).read_bytes())
        chosen = hide_tests(functions, {test: called[test] & reduced.keys() for test in tests}, seed)
        hidden, visible = ([test for test in tests if (test in chosen) is one] for one in (True, False))
        facts = self._describe(where, reduced, visible, hidden)
        if long := [text for text in facts["required_names"] if len(text) > _MOST_TEXT]:
            dropped = find_tests_of(long, self.prepared.tree, hidden)
            hidden = [test for test in hidden if test not in dropped]
            facts = self._describe(where, reduced, visible, hidden)
        if len(hidden) < LEAST_TESTS:
            what = f"{len(tests)} tests need the removed code; {len(hidden)} can be hidden, fewer than {LEAST_TESTS}"
            raise NotSuitable(what, where=where)
        kept = {one for one in kept if one.partition("::")[0] in reduced}
        facts["expected_errors"] = find_expected_errors(self.prepared.tree, visible, hidden)
        record = Rebuild.model_validate(facts | {"visible": visible, "kept": sorted(kept)})
        task = OpenTask(record, self.prepared)
        if copied := {module for _, module in list_copies(task)}:
            rest = replace(unit, files=tuple(path for path in unit.files if path not in copied))
            if not rest.files:
                what = "the release has a copy of every module"
                raise NotSuitable(what, where=where)
            self.log(f"{where}: {len(copied)} modules stay whole, because the release has a copy of each")
            return self.construct(rest, least, seed)
        return record

    def _cut(self, unit: Unit, kept: set[str]) -> dict[str, Reduction]:
        tree = self.prepared.tree
        files = [path for path, one in Skeleton(tree, unit.files).reduce(kept).items() if one.definitions]
        return Skeleton(tree, files).reduce(one for one in kept if one.partition("::")[0] in files)


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
