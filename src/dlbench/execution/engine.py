"""Hold the settings that all executions share, and analyse a candidate's code before it runs.

The analysis says how the code is spliced into the module, and whether it can be patched in place or is unusual.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from dlbench.dataset import Instance
from dlbench.dataset.optimise import Workload
from dlbench.dataset.plus import PlusRecord
from dlbench.dataset.target import Target, find_target
from dlbench.execution.answer import AnswerError
from dlbench.execution.answer_facts import Piece
from dlbench.execution.capabilities import find_unusual
from dlbench.execution.limits import Limits
from dlbench.execution.ordinary_names import ModuleFacts
from dlbench.execution.patch import Place, find_place, plan_patch
from dlbench.execution.sandbox import Sandbox
from dlbench.execution.splice import Spliced, splice
from dlbench.execution.unusual_names import is_licensed
from dlbench.parsing import parse
from dlbench.runs.verdict import Confirm
from dlbench.workspace import Prepared

if TYPE_CHECKING:
    from dlbench.execution.reference_profile import ReferenceProfile
    from dlbench.execution.worker_cache import Executor


@dataclass(frozen=True)
class Engine:
    """The settings of a command's executions, and what its threads share."""

    confinement: Sandbox
    limits: Limits = field(default_factory=Limits)
    executor: "Executor | None" = field(default=None, compare=False, repr=False)
    """Where candidates are judged; None judges on this machine."""
    confirm: Confirm = Confirm.UNUSUAL
    plus: Mapping[str, PlusRecord] = field(default_factory=dict, compare=False, repr=False)
    """Further inputs for candidates that pass, by instance."""
    workloads: Mapping[str, Workload] = field(default_factory=dict, compare=False, repr=False)
    """Inputs on which the cost of candidates that pass is measured, by instance."""
    targets: dict[str, "TargetInModule"] = field(default_factory=dict, compare=False, repr=False)
    failed_references: dict[Path, "ReferenceProfile"] = field(default_factory=dict, compare=False, repr=False)
    replayable: dict[str, frozenset[str] | None] = field(default_factory=dict, compare=False, repr=False)
    """By instance and way, what is odd in replayed results of the reference; None if the tests do not pass on them."""
    unavailable_inputs: dict[Path, str] = field(default_factory=dict, compare=False, repr=False)
    """Why the further inputs of instances cannot be made here; tried once per engine, as it takes seconds."""
    profile_locks: dict[Path, Lock] = field(default_factory=dict, compare=False, repr=False)

    def target(self, prepared: Prepared, instance: Instance) -> "TargetInModule":
        key = f"{prepared.tree}:{instance.path}:{instance.qualname}"
        if key not in self.targets:
            self.targets[key] = TargetInModule(instance, read_module(prepared, instance), prepared.tree / instance.path)
        return self.targets[key]


def read_module(prepared: Prepared, instance: Instance) -> str:
    return (prepared.tree / instance.path).read_text(encoding="utf-8")


@dataclass(frozen=True)
class TargetInModule:
    """The target of an instance in its module."""

    instance: Instance
    source: str
    file: Path | None = None

    @cached_property
    def target(self) -> Target:
        return find_target(self.source, self.instance.qualname)

    @property
    def lines(self) -> tuple[int, int]:
        return self.target.first, self.target.last

    @cached_property
    def place(self) -> Place:
        return find_place(self.source, self.target, self.instance.module)

    @cached_property
    def facts(self) -> ModuleFacts:
        return ModuleFacts(parse(self.source), self.instance.module, self.file)

    @cached_property
    def reference(self) -> "Candidate":
        return self.read(self.target.text)

    def read(self, code: str) -> "Candidate":
        """Raises AnswerError if the code cannot replace the target."""
        of = self.instance
        is_package = of.path.endswith("__init__.py")
        spliced = splice(self.source, of.qualname, code, module=of.module, is_package=is_package)
        return Candidate(self, spliced, _parse_pieces(spliced))


def _parse_pieces(spliced: Spliced) -> list[Piece]:
    """The answer's code as it stands in the module."""
    lines = spliced.source.split("\n")
    texts = ["\n".join(lines[first - 1 : last]) for first, last in spliced.ranges]
    indented = [text.lstrip("\n")[:1] in {" ", "\t"} for text in texts]
    try:
        # a block instead of dedenting, which would change multi-line strings
        return [
            Piece(parse(f"if True:\n{text}" if is_inside else text), is_inside)
            for text, is_inside in zip(texts, indented, strict=True)
            if text.strip()
        ]
    except SyntaxError as error:
        raise AnswerError(
            "syntax_error", f"{type(error).__name__}: {error.msg}: a statement that does not end"
        ) from None


@dataclass(frozen=True)
class Candidate:
    target: TargetInModule
    spliced: Spliced
    pieces: list[Piece]

    @cached_property
    def unusual(self) -> frozenset[str]:
        return frozenset(find_unusual(self.pieces, self.target.facts, self.target.instance.qualname))

    @property
    def is_watched(self) -> bool:
        return bool(self.unusual or self.classes)

    @property
    def excess(self) -> list[str]:
        """What it uses beyond ordinary code and beyond the reference: its pass must be confirmed."""
        if not self.unusual or self.spliced.source == self.target.reference.spliced.source:
            return []
        return sorted(self.unusual - {word for word in self.target.reference.unusual if is_licensed(word)})

    @cached_property
    def classes(self) -> list[str]:
        nodes = [node for piece in self.pieces for node in ast.walk(piece.tree)]
        return [node.name for node in nodes if isinstance(node, ast.ClassDef)]

    def plan_patch(self, filename: str) -> dict[str, Any] | None:
        return plan_patch(self.target.place, self.spliced, filename)
