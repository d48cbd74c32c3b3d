"""Make release tasks out of a pair of releases, and verify each by running it.

A change is a group of tests that share changed code, with the units that they need on top of the older release. A step
is everything. The older release must fail every judging test, and it must pass all of them with the reference, in
five orders. Mutants of the changed lines measure whether the tests notice mistakes. Finished runs are kept.
"""

import difflib
import json
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random

from dlbench.construction import Row
from dlbench.construction.hidden_tests import hide_tests
from dlbench.construction.kept_runs import KeptRun, KeptRuns
from dlbench.construction.release_changes import MOST_FILES, MOST_LINES, Changes, Cluster, Measure, cluster, measure
from dlbench.construction.release_drafts import README, name_stem
from dlbench.construction.releases import ReleasePair
from dlbench.construction.task_construction import SHUFFLES, NotSuitable, choose_within
from dlbench.construction.trace import Trace, TracedTest
from dlbench.dataset.merge import divide, find_changes
from dlbench.dataset.records import strip_case
from dlbench.dataset.target import Function
from dlbench.execution.file_sets import FileSet
from dlbench.execution.isolated_run import RunOptions
from dlbench.execution.release_files import (
    cut_tests,
    make_reference,
    make_tests,
    read_bytes,
    read_units,
    remove_agent_files,
    rename_tests,
)
from dlbench.execution.task_tests import name_functions
from dlbench.jsonl import Journal, write_whole
from dlbench.validation.mutants import write_mutants

CHANGE_LINES, STEP_LINES = (30, MOST_LINES), (500, 10_000)
"""Added lines of code, least and most."""
LEAST_TESTS, LEAST_STEP_TESTS = 3, 10
MOST_CHANGES = 6
"""Of one pair that are tried, those with most tests first."""
LEAST_SCORE = 0.7
"""Share of the mutants that the tests must kill."""
_KEPT_SECONDS = 60.0
"""Of the tests that must still pass."""
_MUTANTS_OF_FUNCTION = 40
_NAMES = ("id", "project", "before", "after")


@dataclass
class Proposal:
    """A verified task without words. `taken`: as in a record."""

    id: str
    project: str
    before: str
    after: str
    uploaded: str
    is_step: bool
    taken: list[str]
    files: list[str]
    hidden: list[str]
    visible: list[str]
    unchanged: list[str]
    measure: Row
    seconds: float
    mutants: int = 0
    killed: int = 0
    survivors: list[str] = field(default_factory=list)


class ReleaseTasks:
    def __init__(self, pair: ReleasePair, *, mutants: int, lines: tuple[int, int] = CHANGE_LINES) -> None:
        """`lines`: least and most that a change adds."""
        self.pair, self.mutants, self.lines = pair, mutants, lines
        self.work, self.name, self.log = pair.work, pair.name, pair.log

    @property
    def changes(self) -> Changes:
        return self.pair.changes

    def make(self) -> Iterator[Proposal]:
        """Propose and verify tasks; each result is recorded in `tasks.jsonl`, rejections with their reason."""
        self.pair.examine()
        older, newer = self.pair.observe()
        failing = self.pair.find_failing(older, newer)
        needed = self._find_needed(failing, newer)
        self._costs = {test.id: test.seconds for test in older.tests} | {
            rename_tests(one.id): one.seconds for one in failing
        }
        self.work.write("needed", ({"test": test, "needs": sorted(units)} for test, units in needed.items()))
        groups = cluster(self.changes, needed)
        self.log(f"{self.name}: {len(failing)} tests fail on {self.pair.pair.before.version}; {len(groups)} groups")
        with Journal(self.work.path("tasks")) as journal:
            options = [*self.lines, self.mutants]
            known = {row["id"]: row for row in journal.records() if row["options"] == options}
            plans = [self._plan_change(group) for group in groups[:MOST_CHANGES]]
            for task_id, group, is_step in [*plans, self._plan_step(needed)]:
                if task_id not in known:
                    row: Row = {"id": task_id, "tests": len(group.tests), "options": options}
                    try:
                        made = self._verify(task_id, group, failing, older, is_step=is_step)
                        known[task_id] = row | {"proposal": asdict(made)}
                    except NotSuitable as error:
                        self.log(f"{task_id}: {error.what}")
                        known[task_id] = row | {"why": error.what, "taken": sorted(group.taken)}
                    journal.append(known[task_id])
                if "proposal" in known[task_id]:
                    yield Proposal(**known[task_id]["proposal"])

    def _find_needed(self, failing: Iterable[TracedTest[int]], newer: Trace) -> dict[str, set[str]]:
        """By test function, the changed units that it ran, and those that its text names, with what they bring."""
        places = newer.functions
        found: dict[str, set[str]] = {}
        for test in failing:
            ran = {self.changes.find(*places[number][:2]) for number in (*test.direct, *test.deeper)} - {""}
            found.setdefault(strip_case(test.id), set()).update(ran)
        for test_id, ran in found.items():
            path, _, name = test_id.partition("::")
            module = read_units(self.pair.trees[1] / path)
            cut = divide(cut_tests(module, {name}, self.changes.packages))
            read = set[str]().union(*(unit.used | unit.attributes for unit in cut.by_key.values()))
            ran |= self.changes.complete(ran, read & cut.imports.keys())
        return found

    def _plan_change(self, group: Cluster) -> tuple[str, Cluster, bool]:
        largest = max(sorted(group.taken), key=lambda one: self.changes.count_lines({one}), default="")
        path, _, key = largest.partition("::")
        slug = re.sub(r"[^A-Za-z0-9]+", "-", key.partition(".")[0] or Path(path).stem).strip("-").lower()
        digest = sha256("\n".join(sorted(group.tests)).encode()).hexdigest()[:4]
        return f"{self._prefix}-{slug}-{digest}", group, False

    def _plan_step(self, needed: Mapping[str, set[str]]) -> tuple[str, Cluster, bool]:
        return f"{self._prefix}-step", Cluster(set(needed), {*self.changes.files, *self.changes.data}), True

    @property
    def _prefix(self) -> str:
        return f"{self.pair.pair.project}/release-{self.pair.pair.after.version}"

    def _verify(
        self, task_id: str, group: Cluster, failing: Sequence[TracedTest[int]], older: Trace, *, is_step: bool
    ) -> Proposal:
        before, after = self.pair.trees
        root = self.pair.projects[0].import_root
        tests = [rename_tests(test.id) for test in failing if strip_case(test.id) in group.tests]
        if not group.taken:
            raise NotSuitable("its tests run nothing that has changed", task_id)
        given = make_tests(before, after, tests, self.changes.packages)
        kept = self._choose_kept(group, older)
        plans = [group.taken] if is_step else [group.taken, {one.partition("::")[0] for one in group.taken}]
        for taken in plans:
            reference = make_reference(before, after, taken, root)
            size = measure(before, reference)
            self._check_size(size, task_id, is_step=is_step)
            solved = self._run(
                f"{task_id}: the reference", {**reference, **given}, [*tests, *kept], reference, learn=True
            )
            hidden = [test for test in tests if solved.passed(test)]
            if 2 * len(hidden) > len(tests):
                break
        else:
            messages = (solved.messages[test] for test in tests if test in solved.messages)
            why = next(messages, solved.tampered or "\n".join(solved.load_errors))
            raise NotSuitable(f"the reference passes {len(hidden)} of {len(tests)} tests: {why[-300:]}", task_id)
        allowed = solved.learned
        base = self._run(f"{task_id}: the older release", given, [*hidden, *kept], reference, allowed=allowed)
        hidden = [test for test in hidden if not base.passed(test)]
        kept = [test for test in kept if base.passed(test) and solved.passed(test)]
        for seed in SHUFFLES:
            what, files = f"{task_id}: the reference, order {seed}", {**reference, **given}
            again = self._run(what, files, [*hidden, *kept], reference, allowed=allowed, shuffle=seed)
            hidden = [test for test in hidden if again.passed(test)]
            kept = [test for test in kept if again.passed(test)]
        least = LEAST_STEP_TESTS if is_step else LEAST_TESTS
        if len(hidden) < least:
            raise NotSuitable(f"{len(hidden)} tests judge it, fewer than {least}", task_id)
        functions = name_functions(hidden, lambda path: given[path] or b"")
        judging = hide_tests(functions, {}, seed=0) if is_step else set(hidden)
        release = self.pair.pair
        made = Proposal(
            id=task_id,
            project=release.project,
            before=release.before.version,
            after=release.after.version,
            uploaded=release.after.uploaded.isoformat(),
            is_step=is_step,
            taken=sorted(taken),
            files=sorted(path for path in reference if path.endswith(".py")),
            hidden=[test for test in hidden if test in judging],
            visible=[test for test in hidden if test not in judging],
            unchanged=kept,
            measure=asdict(size),
            seconds=round(sum(self._costs.get(test, 0.0) for test in [*hidden, *kept]), 2),
        )
        if not is_step:
            self._measure_tests(made, reference, given, allowed)
        self._write(made, reference, make_tests(before, after, hidden, self.changes.packages))
        return made

    def _check_size(self, size: Measure, task_id: str, *, is_step: bool) -> None:
        least, most = STEP_LINES if is_step else self.lines
        if not least <= size.added <= most:
            raise NotSuitable(f"{size.added} lines are added, not {least} to {most}", task_id)
        if size.files > MOST_FILES and not is_step:
            raise NotSuitable(f"{size.files} files change, more than {MOST_FILES}", task_id)

    def _choose_kept(self, group: Cluster, older: Trace) -> list[str]:
        """Tests of the older release that passed on it, first those that run the files of the change."""
        files = {one.partition("::")[0] for one in group.taken}
        numbers = {number for number, place in enumerate(older.functions) if place[0] in files}
        passed = [test for test in older.tests if test.outcome == "passed"]
        near = [test for test in passed if numbers & {*test.direct, *test.deeper}]
        far = [test for test in passed if test not in near]
        chosen = choose_within(near, _KEPT_SECONDS)
        chosen += choose_within(far, _KEPT_SECONDS / 3)
        return chosen

    def _run(
        self,
        what: str,
        files: FileSet,
        tests: Sequence[str],
        answer: Collection[str],
        *,
        allowed: Sequence[str] = (),
        shuffle: int | None = None,
        learn: bool = False,
    ) -> KeptRun:
        """Run tests on the older release with these files."""
        before, _ = self.pair.prepared
        runs = KeptRuns(self.pair.engine, self.work.path("runs"), self.log, self.pair.workers)
        options = RunOptions(answer=tuple(sorted(answer)), allowed=tuple(allowed), learn=learn, shuffle=shuffle)
        laid = {**remove_agent_files(before.tree), **files}
        return runs.run(f"{what}: running {len(tests)} tests", before, laid, tests, options, self._costs)

    def _measure_tests(self, made: Proposal, reference: FileSet, given: FileSet, allowed: Sequence[str]) -> None:
        """Mutants of the changed lines; raises NotSuitable if the tests notice too few."""
        before, _ = self.pair.trees
        found = [one for path in made.files for one in self._write_mutants(before, path, reference[path] or b"")]
        Random(made.id).shuffle(found)
        tests = [*made.hidden, *made.unchanged]
        for name, path, text in found[: self.mutants]:
            files = {**reference, **given, path: text}
            run = self._run(f"{made.id}: a mutant, {name}", files, tests, list(reference), allowed=allowed)
            made.mutants += 1
            if all(run.passed(test) for test in tests):
                made.survivors.append(name)
            else:
                made.killed += 1
        if made.mutants and made.killed < LEAST_SCORE * made.mutants:
            what = (
                f"its tests notice {made.killed} of {made.mutants} mutants of the change: {'; '.join(made.survivors)}"
            )
            raise NotSuitable(what[:600], made.id)

    def _write_mutants(self, before: Path, path: str, content: bytes) -> Iterator[tuple[str, str, bytes]]:
        """Modules with one mutant in a changed line each."""
        old, module = read_units(before / path), divide(content.decode("utf-8-sig"))
        matcher = difflib.SequenceMatcher(None, old.lines, module.lines, autojunk=False)
        parts = [one for one in matcher.get_opcodes() if one[0] != "equal"]
        lines = {line for _, _, _, first, last in parts for line in range(first + 1, last + 1)}
        changed = find_changes(old, module)
        for key, unit in module.by_key.items():
            if not any(key == one or key.startswith(f"{one}.") for one in changed):
                continue
            for node in (node for node in unit.nodes if isinstance(node, Function)):
                for what, code in write_mutants(node, _MUTANTS_OF_FUNCTION, 0):
                    line = node.lineno + int(what.rpartition(" ")[2]) - 1
                    if line in lines:
                        yield f"{key}: {what}", path, _put(module.lines, node, code).encode()

    def _write(self, made: Proposal, reference: FileSet, tests: FileSet) -> None:
        """What a describer needs: the difference, the files of the reference, and the tests."""
        folder = self.work.root / "proposals" / made.id.partition("/")[2]
        shutil.rmtree(folder, ignore_errors=True)
        before, _ = self.pair.trees
        difference: list[str] = []
        for path, content in sorted(reference.items()):
            both = (read_bytes(before / path) or b"", content or b"")
            lines, changed = (one.decode("utf-8", "replace").splitlines(keepends=True) for one in both)
            difference += difflib.unified_diff(lines, changed, f"a/{path}", f"b/{path}")
        for inner, files in (("reference", reference), ("tests", tests)):
            for path, content in files.items():
                if content is not None:
                    (folder / inner / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / inner / path).write_bytes(content)
        write_whole(folder / "base.diff", "".join(difference))
        facts = {"added": made.measure["added"], "files": len(made.files), "tree": before, "stem": name_stem(made.id)}
        write_whole(folder / "README.md", README.format(**facts, **{key: getattr(made, key) for key in _NAMES}))
        write_whole(folder / "proposal.json", json.dumps(asdict(made) | {"base": str(before)}, indent=1) + "\n")


def _put(lines: Sequence[str], node: Function, code: str) -> str:
    """The module with another text of a function; its decorators stay."""
    indent = " " * node.col_offset
    changed = [f"{indent}{line}" if line else "" for line in code.rstrip("\n").split("\n")]
    return "\n".join([*lines[: node.lineno - 1], *changed, *lines[node.end_lineno or node.lineno :]])
