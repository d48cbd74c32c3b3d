"""Build the prompt by which a model writes a task of many files in one answer.

It shows what the task's folder shows, as far as the limit on tokens allows. What is shown is chosen by paths, imports
and what is given; the solution is not read.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from dlbench.dataset.file_task import Component, FileTask
from dlbench.dataset.merge import Import, find_target
from dlbench.dataset.skeleton import reduce_module
from dlbench.dataset.target import fenced
from dlbench.execution.file_sets import find_packages
from dlbench.execution.file_task import OpenTask
from dlbench.execution.task_folder import build_folder, describe_asked
from dlbench.generation.model import Request
from dlbench.generation.sampling import draw_seed
from dlbench.generation.sources import CHARACTERS_PER_TOKEN
from dlbench.generation.techniques import Conversation, system, user
from dlbench.parsing import parse

TOKENS = 24_000
"""Default limit on the tokens of a prompt."""
_BETWEEN = 2
"""Characters between two parts."""
_SYSTEM = (
    "You write Python for deep-learning projects. You cannot run anything. Answer once, with all code that is asked "
    "for; write no tests, no examples and no explanations."
)
_RULES = """## Rules

- Only files below {packages} count, and no tests, configuration, compiled files or links.
- Hidden tests decide.{unchanged}
- The code runs with Python {python} and what the project requires.
- Code that reaches for the tests or the judge does not count."""
_ANSWER = """## How to answer

Write each file that you change in a fenced block whose first line names its path:

```python {path}
# the complete text of the file
```

Of a long file, you may write blocks of edits instead. The lines to replace must be those of the file:

```python {path}
<<<<<<< SEARCH
lines of the file
=======
what replaces them
>>>>>>> REPLACE
```
{definitions}"""
_DEFINITIONS = """
Or write only the definitions that are asked for, complete, with their imports and helpers, in a block with the path
of their file: they replace those of the file.
"""


@dataclass
class TaskPrompts:
    """The conversations of the tasks of a run."""

    tasks: Mapping[str, OpenTask]
    tokens: int = TOKENS
    canary: str = ""
    _built: dict[str, Conversation] = field(default_factory=dict, init=False)

    def build(self, instance: FileTask) -> Conversation:
        if instance.id not in self._built:
            self._built[instance.id] = build_prompt(self.tasks[instance.id], self.tokens, self.canary)
        return self._built[instance.id]

    def request(self, instance: FileTask, sample: int, *, temperature: float, max_tokens: int, seed: int) -> Request:
        conversation = self.build(instance)
        own = draw_seed(seed, instance.id, sample)
        return Request(
            instance.id, sample, conversation.turns[0], temperature, max_tokens, own, notes=conversation.notes
        )


def build_prompt(task: OpenTask, tokens: int = TOKENS, canary: str = "") -> Conversation:
    """`tokens`: the maximum of the prompt, estimated; 0 for none.

    The modules to change come first. If they do not fit, the longest are shown as signatures and docstrings. What is
    left goes to the visible tests, and then to the modules of the project that these modules import.
    """
    record, project = task.record, task.prepared.project
    folder = {path: content.decode("utf-8", "replace") for path, content in build_folder(task).items()}
    packages = sorted(find_packages(record.files, task.prepared)) or list(record.files)
    unchanged = f" {len(record.unchanged)} tests pass now and must still pass." if record.unchanged else ""
    names = "".join(f"\n- `{name}`" for name in record.required_names)
    head = [f"Benchmark data, not to be trained on. Canary: {canary}"] if canary else []
    head += [f"# {project.name} {project.version}", describe_asked(task).strip()]
    head += [f"Names and messages that tests use and that occur nowhere else:\n{names}"] if names else []
    rules = _RULES.format(
        packages=", ".join(f"`{one}`" for one in packages), unchanged=unchanged, python=project.python
    )
    definitions = _DEFINITIONS if isinstance(record, Component) else ""
    answer = _ANSWER.format(path=record.files[0], definitions=definitions).strip()
    fixed = sum(len(part) + _BETWEEN for part in [_SYSTEM, *head, rules, "## Files", answer])
    shown, notes = _choose_files(task, folder, max(1, tokens * CHARACTERS_PER_TOKEN - fixed) if tokens else 0)
    parts = [*head, rules, "## Files", *shown, answer]
    return Conversation([[system(_SYSTEM), user(*parts)]], {"technique": "zero-shot", **notes})


def _choose_files(task: OpenTask, folder: Mapping[str, str], limit: int) -> tuple[list[str], dict[str, Any]]:
    """The blocks of files, and what the sample's record says of them. `limit`: characters, 0 for no limit."""
    record = task.record
    shown = {path: _show(path, folder[path]) for path in record.files if path in folder}
    reduced: list[str] = []
    for path in sorted(shown, key=lambda one: -len(shown[one])):
        less = _show(path, folder[path], is_reduced=True)
        if limit and _measure(shown.values()) > limit and len(less) < len(shown[path]):
            shown[path] = less
            reduced.append(path)
    tests = {test.partition("::")[0] for test in record.visible}
    for path in dict.fromkeys([*sorted(tests), *_list_imported(record.files, folder, task)]):
        if path not in folder or path in shown:
            continue
        left = limit - _measure(shown.values()) - _BETWEEN
        block = _show(path, folder[path])
        if limit and len(block) > left and path not in tests:
            block = _show(path, folder[path], is_reduced=True)
        if not limit or len(block) <= left:
            shown[path] = block
    notes: dict[str, Any] = {"shown": [path for path in shown if path not in record.files]}
    return list(shown.values()), notes | ({"cut": {"bodies": sorted(reduced)}} if reduced else {})


def _measure(blocks: Iterable[str]) -> int:
    return sum(len(block) + _BETWEEN for block in blocks)


def _show(path: str, text: str, *, is_reduced: bool = False) -> str:
    if not is_reduced:
        return f"`{path}`:\n\n{fenced(text)}"
    try:
        text = reduce_module(text, ())
    except (SyntaxError, ValueError):
        text = ""
    return f"`{path}`, without the bodies of its functions (change it by edits or definitions only):\n\n{fenced(text)}"


def _list_imported(files: tuple[str, ...], folder: Mapping[str, str], task: OpenTask) -> Iterator[str]:
    """The modules of the project that these modules import, in the order of the imports."""
    for path in files:
        try:
            tree = parse(folder.get(path, ""))
        except (SyntaxError, ValueError):
            continue
        for node in (node for node in ast.walk(tree) if isinstance(node, Import)):
            for alias in node.names:
                one = copy(node)
                one.names = [alias]
                if place := find_target(path, one, folder, task.prepared.project.import_root)[0]:
                    yield place
