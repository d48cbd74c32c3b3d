"""Run the construction steps on one project or on many.

The work folder contains a benchmark folder with records and locks, and a folder for each project.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock

from dlbench.construction import Row, StepMissing, WorkFolder, for_each_project, one_line
from dlbench.construction.admit import HARNESS_FAULT, MUTANTS, Admission, admit_all, propose_instance
from dlbench.construction.collect import Collected, list_written_tests, set_up_and_collect
from dlbench.construction.extract import extract, measure
from dlbench.construction.history import date_functions
from dlbench.construction.private import is_other_revision
from dlbench.construction.project_spec import ProjectSpec
from dlbench.construction.screening import screen_project
from dlbench.construction.selection.source_layout import find_layout
from dlbench.construction.trace import LEAST_TESTS, Trace, choose_tests, name_group, open_trace_journal, trace
from dlbench.dataset import Project, load
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.jsonl import Journal
from dlbench.workspace import Prepared, prepare
from dlbench.workspace.home import Log
from dlbench.workspace.pip_config import redacted

TRACE_SECONDS = 600.0
_MOST_CASES = 12


class Pipeline:
    """The construction steps of one project in a work folder."""

    def __init__(
        self, engine: Engine, work: WorkFolder, spec: ProjectSpec, log: Log, *, workers: int = os.cpu_count() or 1
    ) -> None:
        self.engine, self.work, self.spec, self.log, self.workers = engine, work, spec, log, workers
        self.root = work.root / "benchmark"
        self.name = spec.name

    @cached_property
    def prepared(self) -> Prepared:
        return prepare(self.project, self.root, self.log)

    @property
    def project(self) -> Project:
        projects = load(self.root).projects if self.root.is_dir() else {}
        if self.name not in projects:
            what, fix = "the project is not set up", f"run `dlbench construct collect {self.name}` first"
            raise StepMissing(what, where=str(self.root), fix=fix)
        return projects[self.name]

    def collect(self) -> None:
        """Step 3: set up the project and collect its tests."""
        self._check_origin()
        self.prepared, found = set_up_and_collect(self.engine, self.spec, self.root, self.log)
        if self.spec.path:
            self.work.write("source", [self._describe_source()], self.name)
        self.save_collected(found)

    def _check_origin(self) -> None:
        """Raises DLBenchError if a name alone would replace the user's own project by a package of that name."""
        known = load(self.root).projects.get(self.name) if self.root.is_dir() else None
        if known and not known.archive and not (self.spec.path or self.spec.git):
            what = f"{self.name} was set up here from {known.path or (known.git and redacted(known.git.url))}"
            raise DLBenchError(what, where=str(self.work.root), fix="name that source again, or pass another --work")

    def save_collected(self, found: Collected) -> None:
        """Raises DLBenchError if there is no test, after saving the reason for each file."""
        reasons, tree = found.explain(), self.prepared.tree
        rows = [{"what": file, "why": why, "written": list_written_tests(tree, file)} for file, why in reasons.items()]
        self.work.write("uncollected", rows, self.name)
        if not found.tests:
            errors = "; ".join(filter(None, [found.why, *list(found.errors.values())[:2]]))
            what = f"pytest collects no test: {(errors or '; '.join(reasons.values()))[-1200:]}"
            raise DLBenchError(what, where=self.name, fix="check what its tests require, or choose another project")
        if found.why:
            self.log(f"{self.name}: collection is incomplete: {found.why.splitlines()[0]}")
        self.work.write("collected", ({"id": test} for test in found.tests), self.name)

    def trace(self, seconds: float = TRACE_SECONDS, cases: int = _MOST_CASES) -> None:
        """Step 4: record which functions each test runs, resuming if interrupted. `cases`: of a parametrized test."""
        tests = [row["id"] for row in self.work.read("collected", self.name)]
        selected = choose_cases(tests, cases)
        # A fixed order unrelated to folders, so that every part is sampled if time runs out early.
        files = {test.partition("::")[0] for test in selected}
        shuffled = sorted(files, key=lambda file: sha256(file.encode()).hexdigest())
        path = self.work.path("trace_journal", self.name)
        # A journal of other tests, another release or another setup must not be resumed.
        subject: Row = {
            "release": self.prepared.tree.parent.name,
            "environment": self.prepared.environment.name,
            "setup": self.project.tests.model_dump(mode="json"),
            "wanted": sha256("\n".join(selected).encode()).hexdigest(),
        }
        with open_trace_journal(path, subject) as journal:
            done = len(journal.tests)
            before = f"; {done} ran before" if done else ""
            self.log(f"running {len(selected)} of {len(tests)} tests of {self.name}{before}")

            def count(test: str) -> None:
                nonlocal done
                done += 1
                if done % 100 == 0:
                    self.log(f"{self.name}: {done} of {len(selected)} tests ran")

            found = trace(
                self.engine, self.prepared, shuffled, tests=selected, seconds=seconds, workers=self.workers,
                journal=journal, on_test=count,
            )  # fmt: skip
            self.work.write("trace_left_out", found.left_out, self.name)
            self.work.write("trace_functions", ({"place": list(place)} for place in found.functions), self.name)
            self.work.write("trace", (asdict(test) for test in found.tests), self.name)
            path.unlink()

    def read_trace(self) -> Trace:
        return Trace.from_rows(self.work.read("trace_functions", self.name), self.work.read("trace", self.name))

    def extract(self, *, dates: bool = False, since: date | None = None) -> None:
        """Step 5: name, locate and measure the functions that ran. `dates`: also find when each function was
        introduced. `since`: keep only functions introduced on or after that date."""
        rows, left_out = extract(self.project, self.prepared.tree, self.read_trace())
        if dates or since:
            self.log(f"searching earlier releases of {self.name}")
            origins = date_functions(self.project, rows)
            rows = [row | {"introduced": origins[row["id"]].isoformat()} for row in rows]
        if since:
            why = f"it was introduced before {since}"
            for row in rows:
                if origins[row["id"]] < since:
                    name = row["qualname"].rpartition(".")[2]
                    left_out.append({"path": row["path"], "line": row["first"], "name": name, "why": why})
            rows = [row for row in rows if origins[row["id"]] >= since]
        self.work.write("extract_left_out", left_out, self.name)
        self.work.write("functions", measure(self.prepared.tree, rows), self.name)

    def screen(self) -> None:
        """Step 6: decide which functions can become instances."""
        screen_project(self.work, self.name, self.prepared.tree)

    def admit(self, most: int | None = None, like: Sequence[str] = (), *, mutants: int = MUTANTS) -> None:
        """Step 8, the automatic part: run the admission checks on screened functions, resuming if interrupted.

        `most` limits the number of functions, sampled by hash so that all files are represented. `like` limits them to
        ids that match one of the patterns."""
        rows = [row for row in self.work.read("screened", self.name) if row["kept"]]
        if like:
            rows = [row for row in rows if any(fnmatchcase(row["id"], pattern) for pattern in like)]
        found = self.read_trace()
        with Journal(self.work.path("measured", self.name)) as journal:
            known = {row["id"] for row in journal.records() if row["reason"] != HARNESS_FAULT}
            sampled = rows if most is None else sorted(rows, key=lambda row: str(row["sha256"]))[:most]
            waiting = [row for row in sampled if row["id"] not in known]
            chosen = [(row, choose_tests(self._find_number(row, found), found.tests)) for row in waiting]
            lock, done = Lock(), 0

            def save(admission: Admission) -> None:
                nonlocal done
                with lock:
                    done += 1
                    journal.append(admission.to_row())
                    why = f"{admission.reason}: {one_line(admission.detail)}"
                    verdict = "admissible" if admission.is_admissible else why
                    self.log(f"{self.name}: {done} of {len(waiting)}: {admission.id.partition('/')[2]}: {verdict}")

            for row, tests in chosen:
                if len(tests) < LEAST_TESTS:
                    # Screening found enough passing tests, so the time limit excluded them.
                    save(Admission(row["id"], "too_slow", f"only {len(tests)} of its tests fit the time limit"))
            instances = [propose_instance(row, tests) for row, tests in chosen if len(tests) >= LEAST_TESTS]
            admit_all(self.engine, self.prepared, instances, save, workers=self.workers, mutants=mutants)

    def _find_number(self, row: Row, found: Trace) -> int:
        """Look up the function by location: its number changes if the tests are traced again after extraction."""
        place = (row["path"], row["first"], row["qualname"].rpartition(".")[2])
        if place not in found.numbers:
            what = f"{row['id']} is not at its location in the trace"
            fix = f"repeat the steps extract and screen for {self.name}"
            raise DLBenchError(what, where=str(self.work.path("screened", self.name)), fix=fix)
        return found.numbers[place]

    def run(self, *, most: int | None = None, seconds: float = TRACE_SECONDS, since: date | None = None) -> None:
        """Run all steps whose output does not exist yet."""
        self.set_aside_other_release()
        if not self.work.has("collected", self.name):
            self.collect()
        if not self.work.has("trace", self.name):
            self.trace(seconds)
        if not self.work.has("functions", self.name):
            self.extract(since=since)
        if not self.work.has("screened", self.name):
            self.screen()
        self.admit(most)

    def set_aside_other_release(self) -> None:
        """Move the results of another release out of the way: they do not apply to this one."""
        if self.work.has("collected", self.name) and self._is_other(existing := self.project):
            aside = self.work.set_aside(self.name, existing.version)
            now = self.spec.version or self.spec.path or redacted(self.spec.git)
            self.log(f"{self.name}: moved the results of {existing.version} to {aside}; starting on {now}")

    def _is_other(self, existing: Project) -> bool:
        spec = self.spec
        if spec.path:
            is_same = existing.path and (self.root / existing.path).resolve() == Path(spec.path).resolve()
            return not is_same or self.work.read("source", self.name) != [self._describe_source()]
        if spec.git:
            return not existing.git or is_other_revision(spec.git, existing.git)
        return bool(spec.version) and existing.version != spec.version

    def _describe_source(self) -> Row:
        """The digest of a folder's code and tests. Other files, such as results of the user's runs, do not count."""
        layout, total = find_layout(self.prepared.tree, self.name), sha256()
        for file in (*layout.modules, *layout.tests):
            total.update(file.encode() + b"\0" + (self.prepared.tree / file).read_bytes())
        return {"sha256": total.hexdigest()}


def choose_cases(tests: list[str], most: int) -> list[str]:
    """At most `most` cases of each parametrized test, spread evenly."""
    groups: dict[str, list[str]] = {}
    for test in tests:
        groups.setdefault(name_group(test), []).append(test)
    return [
        group[int(index * max(1.0, len(group) / most))]
        for group in groups.values()
        for index in range(min(most, len(group)))
    ]


def run_all(
    engine: Engine,
    work: WorkFolder,
    specs: list[ProjectSpec],
    log: Log,
    *,
    workers: int,
    most: int | None = None,
    seconds: float = TRACE_SECONDS,
    since: date | None = None,
) -> dict[str, Exception]:
    """Run every project in turn, continuing after failures. Returns the failures by project name."""
    pipelines = (Pipeline(engine, work, spec, log, workers=workers) for spec in specs)
    return for_each_project(work, pipelines, lambda one: one.run(most=most, seconds=seconds, since=since), log)
