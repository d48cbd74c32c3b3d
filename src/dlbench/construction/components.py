"""Make component tasks out of a project: propose definitions to remove, and find the tests that judge them.

Proposals come from the trace (which tests run which definitions) and from references between definitions. A hidden test
fails when the bodies are missing, and also when they return None; an unchanged test passes without them.
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dlbench.construction.required_names import find_required_names
from dlbench.construction.task_construction import NotSuitable, TaskConstruction, Unit, choose_within
from dlbench.dataset.file_task import Component
from dlbench.dataset.records import strip_case
from dlbench.dataset.skeleton import Definition, Module, Reduction, Skeleton, hash_skeleton, list_names
from dlbench.dataset.validation import module_of
from dlbench.execution.file_screen import screen_files
from dlbench.execution.file_task import OpenTask
from dlbench.execution.task_folder import list_copies
from dlbench.runs.verdict import Outcome

SIZES = (60, 1000)
"""Lines of a component."""
_TARGETS = (120, 280, 600)
"""Lines at which a group of definitions stops growing."""
_MOST_FILES = 8
_LEAST_FUNCTIONS = 4
"""Test functions, whatever their cases."""
_LEAST_COVERED = 0.8
"""Share of the lines that the tests run."""
_LEAST_SHARED = 0.4
"""Share of tests that two definitions of a group have in common."""
_SECONDS = 20.0
"""Of the tests that run a component; half as much for those that only run what is beside it."""
_MOST_TESTS = 200


@dataclass(frozen=True)
class Node:
    """A class or function at the top of a module."""

    path: str
    name: str
    lines: int
    """Of the bodies that can be removed."""
    covered: int
    """Lines of the bodies that stable tests run."""
    tests: frozenset[str]
    names: frozenset[str]
    """What its code mentions."""

    @property
    def is_private(self) -> bool:
        return self.name.startswith("_")


@dataclass(frozen=True)
class Proposal:
    name: str
    nodes: frozenset[Node]

    @property
    def lines(self) -> int:
        return sum(node.lines for node in self.nodes)

    @property
    def functions(self) -> set[str]:
        return {strip_case(test) for node in self.nodes for test in node.tests}

    @property
    def unit(self) -> Unit:
        asked = tuple(sorted(f"{node.path}::{node.name}" for node in self.nodes))
        return Unit(f"component-{self.name}", tuple(sorted({node.path for node in self.nodes})), asked)

    def rate(self, functions: int) -> float:
        """Better with more tests that run more of it; worse if its parts have tests of their own or are in many files,
        or if most tests of the project need it."""
        own = self.functions
        covered = sum(node.covered for node in self.nodes) / self.lines
        tests = set().union(*(node.tests for node in self.nodes))
        common = sum(len(node.tests) for node in self.nodes) / len(self.nodes) / len(tests)
        score = min(len(own), 20) / 20 + covered + common + 0.5 * (self.lines >= 150)
        return score - 0.2 * (len(self.unit.files) - 1) - (len(own) > 0.6 * functions)


class ComponentConstruction(TaskConstruction):
    least_tests = Component.least_tests

    @property
    def modules(self) -> Mapping[str, Module]:
        return self._skeleton.modules

    @cached_property
    def _nodes(self) -> list[Node]:
        """The top-level definitions that have a body to remove. What runs on import stays."""
        by_place: defaultdict[str, set[str]] = defaultdict(set)
        for test in self._stable.tests:
            for place in self._reached[0][test]:
                by_place[place].add(test)
        found = []
        for path, module in self._skeleton.modules.items():
            inside: defaultdict[str, list[Definition]] = defaultdict(list)
            for one in module.definitions:
                if not one.is_empty and f"{path}::{one.qualname}" not in self._kept:
                    inside[one.qualname.partition(".")[0]].append(one)
            tops = {node.name: node for node in module.tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
            for name in tops.keys() & inside.keys():
                sizes = {one.qualname: module.measure(one) for one in inside[name]}
                covered = sum(size for one, size in sizes.items() if by_place[f"{path}::{one}"])
                tests = frozenset[str]().union(*(by_place[f"{path}::{one}"] for one in sizes))
                names = frozenset(list_names(tops[name])) - {name}
                found.append(Node(path, name, sum(sizes.values()), covered, tests, names))
        return found

    @cached_property
    def _users(self) -> dict[Node, set[Node]]:
        """Which definitions mention each one; a name means the module's own before another's."""
        named: defaultdict[str, list[Node]] = defaultdict(list)
        for node in self._nodes:
            named[node.name].append(node)
        users: dict[Node, set[Node]] = {node: set() for node in self._nodes}
        for user in self._nodes:
            for name in user.names & named.keys():
                meant = [node for node in named[name] if node.path == user.path] or named[name]
                if len(meant) == 1 and meant[0] is not user:
                    users[meant[0]].add(user)
        return users

    @cached_property
    def _neighbours(self) -> dict[Node, set[Node]]:
        found = {node: set(users) for node, users in self._users.items()}
        for node, users in self._users.items():
            for user in users:
                found[user].add(node)
        return found

    def propose(self, most: int) -> list[Proposal]:
        """At most so many proposals that do not overlap, the best first; no more than a third of them small."""
        candidates = {one.nodes: one for one in self._list_candidates()}
        total = len({strip_case(test) for test in self._stable.tests})
        ranked = sorted(candidates.values(), key=lambda one: (-one.rate(total), one.name))
        chosen: list[Proposal] = []
        for one in ranked:
            small = sum(other.lines < 150 for other in chosen)
            is_free = all(not one.nodes & other.nodes for other in chosen)
            if len(chosen) < most and is_free and (one.lines >= 150 or small < max(1, most // 3)):
                names = {other.name for other in chosen}
                name = next(f"{one.name}{end}" for end in ("", *range(2, 99)) if f"{one.name}{end}" not in names)
                chosen.append(replace(one, name=name))
        if not chosen:
            least, largest = SIZES
            what = f"no class, module or group of {least} to {largest} lines has tests enough"
            raise NotSuitable(what, where=self.name, fix="add tests, or choose a larger project")
        return chosen

    def _list_candidates(self) -> Iterator[Proposal]:
        modules: defaultdict[str, set[Node]] = defaultdict(set)
        for node in self._nodes:
            if node.tests:
                modules[node.path].add(node)
        groups: list[tuple[str, set[Node]]] = []
        for path, nodes in modules.items():
            groups.append((module_of(path, self.prepared.project.import_root).rpartition(".")[2], nodes))
            for seed in nodes:
                if not seed.is_private:
                    groups.append((seed.name, {seed}))
                    groups += (("", self._grow(seed, target)) for target in _TARGETS)
        for name, nodes in groups:
            largest = max(nodes, key=lambda node: (not node.is_private, node.lines, node.name))
            one = Proposal(name or largest.name, frozenset(self._add_helpers(nodes)))
            covered = sum(node.covered for node in one.nodes)
            is_tested = len(one.functions) >= _LEAST_FUNCTIONS and covered >= _LEAST_COVERED * one.lines
            if SIZES[0] <= one.lines <= SIZES[1] and is_tested and len(one.unit.files) <= _MOST_FILES:
                yield one

    def _grow(self, seed: Node, target: int) -> set[Node]:
        """Add definitions that refer to each other and share tests, the closest first."""
        found, tests = {seed}, seed.tests
        while sum(node.lines for node in found) < target:
            near = set().union(*(self._neighbours[node] for node in found)) - found
            shared = {node: len(node.tests & tests) / len(node.tests | tests) for node in near if node.tests}
            weights = {node: share / max(1, len(self._users[node])) ** 0.5 for node, share in shared.items()}
            best = max(weights, key=lambda node: (weights[node], node.path, node.name), default=None)
            if best is None or shared[best] < _LEAST_SHARED:
                break
            found.add(best)
            tests |= best.tests
        return found

    def _add_helpers(self, nodes: Collection[Node]) -> set[Node]:
        """With the private definitions that nothing else uses."""
        found = set(nodes)
        while True:
            private = (node for node in self._nodes if node.is_private and self._users[node])
            helpers = {node for node in private if self._users[node] <= found}
            if helpers <= found:
                return found
            found |= helpers

    def construct(self, proposal: Proposal) -> dict[str, Any]:
        """The fields of the record that need no person. Raises NotSuitable with the reason."""
        unit, where = proposal.unit, f"{self.name}/{proposal.unit.name}"
        kept, outcomes = self._reduce(unit, where)
        reduced = self._cut(unit, kept)
        texts = {path: one.text for path, one in reduced.items()}
        lines = sum(one.lines for one in reduced.values())
        if not SIZES[0] <= lines <= SIZES[1]:
            what = f"{lines} lines are removed, not {SIZES[0]} to {SIZES[1]}"
            raise NotSuitable(what, where=where, fix="choose other definitions")
        failed = [test for test, outcome in outcomes.items() if outcome in (Outcome.FAILED, Outcome.ERROR)]
        returning = {path: text.replace("raise NotImplementedError", "return None") for path, text in texts.items()}
        what = f"{where}: running {len(failed)} tests on bodies that return None"
        again = self._run(failed, returning, tuple(texts), self._stable.allowed, what)["outcomes"] if failed else {}
        hidden = [test for test in failed if again.get(test) in (Outcome.FAILED, Outcome.ERROR)]
        if len(hidden) < self.least_tests or len({strip_case(test) for test in hidden}) < _LEAST_FUNCTIONS:
            what = f"{len(hidden)} tests tell the code from missing and empty bodies"
            raise NotSuitable(what, where=where, fix="choose code with more tests")
        unchanged = [test for test, outcome in outcomes.items() if outcome == Outcome.PASSED]
        tree = self.prepared.tree
        facts: dict[str, Any] = {
            "id": where,
            "project": self.name,
            "version": self.prepared.project.version,
            "files": list(texts),
            "asked": list(_list_asked(unit, kept, self._skeleton.modules)),
            "hidden": hidden,
            "unchanged": unchanged,
            "required_names": find_required_names(tree, texts, unchanged, hidden),
            "lines": lines,
            "definitions": sum(one.definitions for one in reduced.values()),
            "seconds": round(sum(self._traced[test].seconds for test in (*hidden, *unchanged)), 2),
            "sha256": hash_skeleton(texts),
        }
        task = OpenTask(Component.model_construct(**facts), self.prepared)
        if excess := screen_files(task.reference, task.reference, task.packages):
            what = f"the screen refuses the release's own code: {excess[0]}"
            raise NotSuitable(what, where=where, fix="choose other definitions")
        if copied := [path for path, _ in list_copies(task)]:
            raise NotSuitable(f"{copied[0]} has a copy of it", where=where, fix="choose other definitions")
        return facts

    def _cut(self, unit: Unit, kept: set[str]) -> dict[str, Reduction]:
        asked = list(_list_asked(unit, kept, self._skeleton.modules))
        return Skeleton(self.prepared.tree, sorted({one.partition("::")[0] for one in asked})).cut(asked)

    def _find_tests(self, unit: Unit, kept: set[str], where: str) -> list[str]:
        """The stable tests that run the component, and some that run what is beside it, the fastest first."""
        found, files = super()._find_tests(unit, kept, where), set(unit.files)
        rest = dict.fromkeys(self._stable.tests).keys() - set(found)
        beside = [
            test for test in sorted(rest) if files & {place.partition("::")[0] for place in self._reached[0][test]}
        ]
        chosen = set(choose_within([self._traced[test] for test in found], _SECONDS)[:_MOST_TESTS])
        chosen |= set(choose_within([self._traced[test] for test in beside], _SECONDS / 2)[: _MOST_TESTS // 3])
        return [test for test in self._stable.tests if test in chosen]


def _list_asked(unit: Unit, kept: Collection[str], modules: Mapping[str, Module]) -> Iterator[str]:
    """What is asked; of a class with a method that keeps its body, the other methods."""
    for place in unit.asked:
        path, _, name = place.partition("::")
        names = modules[path].list_inside([name])
        inside = [one.qualname for one in modules[path].definitions if one.qualname in names]
        if any(f"{path}::{one}" in kept for one in inside):
            yield from dict.fromkeys(f"{path}::{one}" for one in inside if f"{path}::{one}" not in kept)
        else:
            yield place


def list_sources(asked: Iterable[str], modules: Mapping[str, Module]) -> Iterator[tuple[str, str]]:
    """The code of each definition that is asked for."""
    for place in asked:
        path, _, name = place.partition("::")
        module = modules[path]
        nodes: list[ast.stmt] = [one.node for one in module.definitions if one.qualname == name]
        for node in [module.classes[name]] if name in module.classes else nodes:
            yield path, ast.get_source_segment(module.source, node) or ""
