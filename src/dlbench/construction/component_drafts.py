"""Write proposals of components for those who describe them, and make records of the described ones.

A proposal's folder holds code and tests of the project, so it must not be in the repository.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from dlbench.construction.components import list_sources
from dlbench.dataset.file_task import Component, FileTask
from dlbench.dataset.labels import AXES
from dlbench.dataset.skeleton import Module, cut_definitions
from dlbench.dataset.tracks import name_file
from dlbench.errors import DLBenchError
from dlbench.execution.task_tests import cut_tests
from dlbench.jsonl import write_whole

Described = TypeVar("Described", bound=FileTask)

PROPOSAL = "proposal.json"
_README = """# {id}

{lines} lines in {definitions} definitions are removed from {count} files. Describe them so that somebody who sees the
rest of the release, but neither this code nor these tests, can write them and pass every test.

- `removed.py`: the code. `tests/`: the tests that judge. `base/`: the files as they are given.
- Write `{stem}.md`: 150 to 1,200 words in your own words, as Markdown, without front matter. No line, expression,
  docstring or comment of the code, and of messages only what a test matches.
- Write `{stem}.json`: `votes` (three for each of `stage`, `task`, `data`), `attempts` (of each `kind`, `solved`,
  `share`, `failure`), `reviewer`, and `dropped` (tests that the description does not determine).

Names and messages that tests use and nothing visible mentions. Those that the description lacks are listed below it:

{names}
"""


def write_proposal(folder: Path, facts: Mapping[str, Any], tree: Path, modules: Mapping[str, Module]) -> Path:
    """The proposal's folder, with what a describer needs."""
    stem = name_file(facts["id"]).removesuffix(".json")
    place = folder / stem
    names = "\n".join(f"- `{name}`" for name in facts["required_names"]) or "- none"
    removed = "\n\n\n".join(f"# {path}\n{source}" for path, source in list_sources(facts["asked"], modules))
    files = {"README.md": _README.format(**facts, count=len(facts["files"]), stem=stem, names=names)}
    files |= {PROPOSAL: json.dumps(facts, indent=1) + "\n", "removed.py": removed + "\n"}
    files |= {f"base/{path}": one.text for path, one in cut_definitions(tree, facts["asked"]).items()}
    for path in dict.fromkeys(test.partition("::")[0] for test in facts["hidden"]):
        shown = [test for test in facts["hidden"] if test.partition("::")[0] == path]
        files[f"tests/{path}"] = cut_tests((tree / path).read_bytes(), shown).decode("utf-8", "replace")
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(place / path, text)
    return place


def read_described(proposals: Path, descriptions: Path, project: str) -> Iterator[Component]:
    """The records of a project's proposals that have a description."""
    for path in sorted(proposals.glob(f"{project}.component-*/{PROPOSAL}")):
        text, facts = (descriptions / f"{path.parent.name}{end}" for end in (".md", ".json"))
        if text.is_file():
            yield describe_proposal(Component, json.loads(path.read_text(encoding="utf-8")), text, facts)


def describe_proposal(kind: type[Described], proposal: dict[str, Any], text: Path, facts: Path) -> Described:
    """The record of a proposal with a description and, beside it, what persons or models said of it."""
    fix = "write votes, attempts and reviewer into it, as the proposal's README.md says"
    if not facts.is_file():
        raise DLBenchError("the description has no facts beside it", where=str(facts), fix=fix)
    description = text.read_text(encoding="utf-8").strip()
    try:
        known = json.loads(facts.read_text(encoding="utf-8"))
        dropped = set(known.pop("dropped", ()))
        hidden = [test for test in proposal["hidden"] if test not in dropped]
        names = [name for name in proposal["required_names"] if name not in description]
        labels = {axis: _find_majority(known["votes"][axis]) for axis in AXES}
        own = {"description": description, "labels": labels, "hidden": hidden, "required_names": names}
        return kind.model_validate(proposal | known | own)
    except (ValidationError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DLBenchError(f"it cannot be used: {error}", where=str(facts), fix=fix) from None


def _find_majority(votes: Iterable[str]) -> str:
    return Counter(votes).most_common(1)[0][0]
