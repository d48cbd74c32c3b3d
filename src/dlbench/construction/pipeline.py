"""How do the steps follow one another over a project, and over many?

Each step is skipped when its file is there; a project that fails in one is left out with the reason, and the others go
on. Everything lies in the work folder: a benchmark's folder with the records and locks, and a folder for each project.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from fnmatch import fnmatchcase
from hashlib import sha256
from threading import Lock

from dlbench.construction.admit import HARNESS_FAULT, Admission, admit_all, propose_instance
from dlbench.construction.calls.agreement import Comparison, compare
from dlbench.construction.calls.graph import build_graph, list_written
from dlbench.construction.choose_tests import LEAST_TESTS, choose_tests, name_group
from dlbench.construction.collect import Collected, set_up_and_collect
from dlbench.construction.extract import extract, measure
from dlbench.construction.history import date_functions
from dlbench.construction.project_spec import ProjectSpec
from dlbench.construction.screening import screen_project
from dlbench.construction.trace import Trace, TracedTest, open_trace_journal, trace
from dlbench.construction.work_folder import Row, StepMissing, WorkFolder, for_each_project
from dlbench.dataset import Project, load
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.jsonl import Journal
from dlbench.workspace import Prepared, prepare
from dlbench.workspace.home import Log

TRACE_SECONDS = 600.0
MOST_CASES = 12


class Pipeline:
    """The steps on one project of a work folder."""

    def __init__(
        self, engine: Engine, work: WorkFolder, wish: ProjectSpec, log: Log, *, workers: int = os.cpu_count() or 1
    ) -> None:
        self.engine, self.work, self.wish, self.log, self.workers = engine, work, wish, log, workers
        self.root = work.root / "benchmark"
        self.name = wish.name
        self._prepared: Prepared | None = None

    @property
    def prepared(self) -> Prepared:
        if self._prepared is None:
            self._prepared = prepare(self.project, self.root, self.log)
        return self._prepared

    @property
    def project(self) -> Project:
        projects = load(self.root).projects if self.root.is_dir() else {}
        if self.name not in projects:
            what, fix = "the project has not been set up", f"run `dlbench construct collect {self.name}` first"
            raise StepMissing(what, where=str(self.root), fix=fix)
        return projects[self.name]

    def collect(self) -> None:
        """Steps 2 and 3: the project set up, its tests collected; of what cannot be, what the text says is there."""
        self._prepared, found = set_up_and_collect(self.engine, self.wish, self.root, self.log)
        self.keep_collected(found)

    def keep_collected(self, found: Collected) -> None:
        """Raises DLBenchError where there is no test; why there is none from each file is kept all the same."""
        reasons = found.explain()
        written = list_written(self.prepared.tree, self.project.import_root, list(reasons))
        rows = [{"what": file, "why": why, "written": written[file]} for file, why in reasons.items()]
        self.work.write("uncollected", rows, self.name)
        if not found.tests:
            errors = "; ".join(filter(None, [found.why, *list(found.errors.values())[:2]]))
            what = f"pytest collects no test: {(errors or '; '.join(reasons.values()))[-1200:]}"
            raise DLBenchError(what, where=self.name, fix="see what its tests need, or choose another project")
        if found.why:
            self.log(f"{self.name}: not all was collected: {found.why.splitlines()[0]}")
        self.work.write("collected", ({"id": test} for test in found.tests), self.name)

    def trace(self, seconds: float = TRACE_SECONDS, cases: int = MOST_CASES) -> None:
        """Step 4: what each test runs; goes on where it was stopped. Of a parametrised test, so many cases at most."""
        tests = [row["id"] for row in self.work.read("collected", self.name)]
        wanted = choose_cases(tests, cases)
        files = shuffle_files({test.partition("::")[0] for test in wanted})
        journal = self.work.path("trace_journal", self.name)
        with open_trace_journal(journal, self._name_trace(wanted)) as kept:
            done = len(kept.tests)
            before = f"; {done} ran before" if done else ""
            self.log(f"running {len(wanted)} of {len(tests)} tests of {self.name}{before}")

            def count(test: str) -> None:
                nonlocal done
                done += 1
                if done % 100 == 0:
                    self.log(f"{self.name}: {done} of {len(wanted)} tests ran")

            seen = trace(
                self.engine,
                self.prepared,
                files,
                wanted=wanted,
                seconds=seconds,
                workers=self.workers,
                seen=kept,
                on_test=count,
            )
            self.work.write("trace_left_out", seen.left_out, self.name)
            self.work.write("trace_functions", ({"place": list(place)} for place in seen.functions), self.name)
            self.work.write("trace", (asdict(test) for test in seen.tests), self.name)
            journal.unlink()

    def _name_trace(self, wanted: list[str]) -> Row:
        """Which tests of which release, run with what: what was seen of another says nothing."""
        return {
            "release": self.prepared.tree.parent.name,
            "environment": self.prepared.environment.name,
            "setup": self.project.tests.model_dump(mode="json"),
            "wanted": sha256("\n".join(wanted).encode()).hexdigest(),
        }

    def read_trace(self) -> Trace:
        places = [tuple(row["place"]) for row in self.work.read("trace_functions", self.name)]
        found = Trace(numbers={(path, line, name): number for number, (path, line, name) in enumerate(places)})
        for row in self.work.read("trace", self.name):
            own = {"direct": tuple(row["direct"]), "deeper": tuple(row["deeper"])}
            found.tests.append(TracedTest(**(row | own)))
        return found

    def compare_with_text(self) -> Comparison:
        """Step 4's other half: the graph that the text alone gives, and how far it agrees with what ran."""
        seen = self.read_trace()
        self.log(f"reading which function each test of {self.name} comes to")
        graph = build_graph(
            self.prepared.tree, self.project.import_root, sorted({test.id.partition("::")[0] for test in seen.tests})
        )
        rows = extract(self.project, self.prepared.tree, seen).rows
        found = compare(graph, seen.tests, {row["number"]: f"{row['path']}::{row['qualname']}" for row in rows})
        reached = (
            {"id": key, "direct": sorted(one.direct), "all": sorted(one.all)} for key, one in graph.tests.items()
        )
        self.work.write("static", reached, self.name)
        self.work.write("static_agreement", [found.to_row()], self.name)
        return found

    def extract(self, *, dates: bool = False, since: date | None = None) -> None:
        """Step 5: the functions that ran: name, place, size. `dates`: also when each appeared. `since`: only later."""
        found = extract(self.project, self.prepared.tree, self.read_trace())
        rows = found.rows
        if dates or since:
            self.log(f"looking into earlier releases of {self.name}")
            origins = date_functions(self.project, rows)
            rows = [row | {"introduced": origins[row["id"]].isoformat()} for row in rows]
        if since:
            old = [row for row in rows if date.fromisoformat(row["introduced"]) < since]
            for row in old:
                name, why = row["qualname"].rpartition(".")[2], f"it was there before {since}"
                found.left_out.append({"path": row["path"], "line": row["first"], "name": name, "why": why})
            rows = [row for row in rows if date.fromisoformat(row["introduced"]) >= since]
        self.work.write("extract_left_out", found.left_out, self.name)
        self.work.write("functions", measure(self.prepared.tree, rows), self.name)

    def screen(self) -> None:
        """Step 6: which of them can be asked for."""
        screen_project(self.work, self.name, self.prepared.tree, explain=explain_few_tests)

    def admit(self, most: int | None = None, like: Sequence[str] = ()) -> None:
        """The measuring half of step 8, over what was screened; goes on where it was stopped. Of a project's functions
        no more than `most`, drawn by their hashes, so that it is not the first files that are gone through; only those
        whose ids are `like` one of some patterns, where any are given."""
        rows = [
            row
            for row in self.work.read("screened", self.name)
            if row["kept"] and (not like or any(fnmatchcase(row["id"], one) for one in like))
        ]
        seen = self.read_trace()
        with Journal(self.work.path("measured", self.name)) as journal:
            known = {row["id"] for row in journal.records() if row["reason"] != HARNESS_FAULT}
            wanted = rows if most is None else sorted(rows, key=lambda row: str(row["sha256"]))[:most]
            waiting = [row for row in wanted if row["id"] not in known]
            chosen = {row["id"]: choose_tests(self._find_number(row, seen), seen.tests) for row in waiting}
            enough = [row for row in waiting if len(chosen[row["id"]]) >= LEAST_TESTS]
            instances = [propose_instance(row, chosen[row["id"]]) for row in enough]
            lock, done = Lock(), 0

            def keep(found: Admission) -> None:
                nonlocal done
                with lock:
                    done += 1
                    journal.append(found.to_row())
                    verdict = "admissible" if found.is_admissible else found.reason
                    self.log(f"{self.name}: {done} of {len(waiting)}: {found.id.partition('/')[2]}: {verdict}")

            for function in [key for key, tests in chosen.items() if len(tests) < LEAST_TESTS]:
                # screening has seen that there are three which pass
                what = f"of the tests that run it {len(chosen[function])} keep to the time"
                keep(Admission(function, "too_slow", what))
            admit_all(self.engine, self.prepared, instances, keep, workers=self.workers)

    def _find_number(self, row: Row, seen: Trace) -> int:
        """By its place: had the tests been run again since it was extracted, its number would be another function's."""
        place = (row["path"], row["first"], row["qualname"].rpartition(".")[2])
        if place not in seen.numbers:
            what = f"{row['id']} is not where the tests ran it"
            fix = f"do the steps extract and screen again for {self.name}"
            raise DLBenchError(what, where=str(self.work.path("screened", self.name)), fix=fix)
        return seen.numbers[place]

    def run(self, *, most: int | None = None, seconds: float = TRACE_SECONDS, since: date | None = None) -> None:
        """All of them, from the first whose file is not there."""
        self._put_aside_another_release()
        if not self.work.has("collected", self.name):
            self.collect()
        if not self.work.has("trace", self.name):
            self.trace(seconds)
        if not self.work.has("static_agreement", self.name):
            self.compare_with_text()
        if not self.work.has("functions", self.name):
            self.extract(since=since)
        if not self.work.has("screened", self.name):
            self.screen()
        self.admit(most)

    def _put_aside_another_release(self) -> None:
        """Steps that were done on one release say nothing of another."""
        if not self.wish.version or not self.work.has("collected", self.name):
            return
        there = self.project.version
        if there != self.wish.version:
            aside = self.work.put_aside(self.name, there)
            self.log(f"{self.name}: what was found of {there} is in {aside}; {self.wish.version} begins anew")


def explain_few_tests(row: Row) -> Row:
    """Too few tests pass: because they want the network, because they take too long, or because there are not more."""
    failing = row.get("failing") or {}
    if row["kept"] or row["reason"] != "too_few_tests" or not failing:
        return row
    for kind, reason in (("network", "tests_need_network"), ("slow", "tests_too_slow"), ("failed", "tests_fail")):
        if failing.get(kind):
            return row | {"reason": reason, "why": f"{row['tests']} tests pass; of the others: {failing}"}
    return row


def choose_cases(tests: list[str], most: int) -> list[str]:
    """Of each parametrised test so many cases, spread over all of them."""
    groups: dict[str, list[str]] = {}
    for test in tests:
        groups.setdefault(name_group(test), []).append(test)
    chosen: list[str] = []
    for group in groups.values():
        step = max(1.0, len(group) / most)
        chosen += [group[int(place * step)] for place in range(min(most, len(group)))]
    return chosen


def shuffle_files(files: set[str]) -> list[str]:
    """In an order that has nothing to do with folders: where the time is up early, every part has had its share."""
    return sorted(files, key=lambda file: sha256(file.encode()).hexdigest())


def run_all(
    engine: Engine,
    work: WorkFolder,
    wishes: list[ProjectSpec],
    log: Log,
    *,
    workers: int,
    most: int | None = None,
    seconds: float = TRACE_SECONDS,
    since: date | None = None,
) -> dict[str, Exception]:
    """Every project in turn; what stands against one is kept, and the rest goes on. Gives it by name of the project."""
    chains = (Pipeline(engine, work, wish, log, workers=workers) for wish in wishes)
    return for_each_project(work, chains, lambda chain: chain.run(most=most, seconds=seconds, since=since), log)
