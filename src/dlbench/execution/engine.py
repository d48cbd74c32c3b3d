"""What is known of an answer's code before any of it runs?

How it stands in the module, whether it can be taken in place, whether it wants watching; and what all executions of one
command have in common. What depends on the instance alone is worked out once.
"""

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dlbench.dataset import Instance
from dlbench.dataset.target import Target, find_target
from dlbench.execution.limits import Limits
from dlbench.execution.patch import Place, find_place, plan_patch
from dlbench.execution.risk_screen import find_forbidden, needs_watching
from dlbench.execution.sandbox import Confinement
from dlbench.execution.splice import Spliced, splice
from dlbench.parsing import parse
from dlbench.workspace import Prepared

if TYPE_CHECKING:
    from dlbench.execution.worker_cache import Executor


@dataclass(frozen=True)
class Engine:
    """What every execution of a command has in common."""

    confinement: Confinement
    limits: Limits = field(default_factory=Limits)
    targets: dict[str, "TargetInModule"] = field(default_factory=dict, compare=False, repr=False)
    seats: "Executor | None" = field(default=None, compare=False, repr=False)
    """Where candidates are judged, if not on this machine."""

    def asked(self, prepared: Prepared, instance: Instance) -> "TargetInModule":
        key = f"{prepared.tree}:{instance.path}:{instance.qualname}"
        if key not in self.targets:
            self.targets[key] = TargetInModule(instance, read_module(prepared, instance))
        return self.targets[key]

    def target_lines(self, prepared: Prepared, instance: Instance) -> tuple[int, int]:
        target = self.asked(prepared, instance).target
        return target.first, target.last


def read_module(prepared: Prepared, instance: Instance) -> str:
    return (prepared.tree / instance.path).read_text(encoding="utf-8")


@dataclass(frozen=True)
class TargetInModule:
    """The target of an instance in its module."""

    instance: Instance
    source: str

    @cached_property
    def target(self) -> Target:
        return find_target(self.source, self.instance.qualname)

    @cached_property
    def place(self) -> Place:
        return find_place(self.source, self.target, self.instance.module)

    def read(self, code: str) -> "Candidate":
        """Raises AnswerError when the code cannot take the target's place."""
        instance = self.instance
        is_package = instance.path.endswith("__init__.py")
        return Candidate(
            self, splice(self.source, instance.qualname, code, module=instance.module, is_package=is_package)
        )


@dataclass(frozen=True)
class Candidate:
    asked: TargetInModule
    spliced: Spliced

    @cached_property
    def _pieces(self) -> list[ast.Module]:
        lines = self.spliced.source.split("\n")
        texts = ["\n".join(lines[first - 1 : last]) for first, last in self.spliced.ranges]
        return [parse(_unindent(text)) for text in texts if text.strip()]

    @cached_property
    def is_watched(self) -> bool:
        return any(map(needs_watching, self._pieces))

    @cached_property
    def classes(self) -> list[str]:
        nodes = [node for piece in self._pieces for node in ast.walk(piece)]
        return [node.name for node in nodes if isinstance(node, ast.ClassDef)]

    @cached_property
    def forbidden(self) -> str:
        """A name that no solution spells, unless its module does."""
        found = (name for piece in self._pieces for name in find_forbidden(piece))
        return next((name for name in found if name not in self.asked.source), "")

    def plan_patch(self, filename: str) -> dict[str, Any] | None:
        return plan_patch(self.asked.place, self.spliced, filename)


def _unindent(text: str) -> str:
    """A member of a class, so that it stands alone; strings of several lines stay as they are."""
    first = text.lstrip("\n")
    return f"if True:\n{text}" if first[:1] in {" ", "\t"} else text
