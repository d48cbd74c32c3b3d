"""Make records of the proposed release tasks that are described."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dlbench.construction.component_drafts import describe_proposal
from dlbench.construction.releases import load_alone
from dlbench.dataset.file_task import Release
from dlbench.dataset.skeleton import hash_skeleton
from dlbench.jsonl import write_whole
from dlbench.workspace.home import Log
from dlbench.workspace.source import fetch

README = """# {id}

{project} {after} changed this after {before}: {added} lines are added in {files} files. Describe it like a good
issue: what is wrong or wanted, the behaviour, the public interface. Somebody who sees {before}, but neither this code
nor these tests, must be able to write it and pass every test.

- `base.diff`: the solution. `tests/`: the tests that judge. `reference/`: the changed files. The release before is
  in `{tree}`.
- Write `{stem}.md`: 100 to 900 words in your own words, as Markdown, without front matter. No line, expression,
  docstring or comment of the code, no release note, and of messages only what a test matches.
- Write `{stem}.json`: `change` (feature, behaviour, fix or rework), `votes` (three for each of `stage`, `task`,
  `data`), `attempts` (of each `kind`, `solved`, `share`, `failure`), `reviewer`, and `dropped` (tests that the
  description does not determine).
"""


def name_stem(task_id: str) -> str:
    return task_id.replace("/", ".")


def write_described(out: Path, descriptions: Path, root: Path, log: Log) -> Iterator[Release]:
    """The records of described proposals of all pairs in `out`. The lock of each environment is added to `root`."""
    for journal in sorted(out.glob("*/tasks.jsonl")):
        rows = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
        for proposal in (row["proposal"] for row in rows if "proposal" in row):
            text, facts = (descriptions / f"{name_stem(proposal['id'])}{end}" for end in (".md", ".json"))
            if text.is_file():
                yield describe_proposal(Release, _make_facts(journal.parent, proposal, root, log), text, facts)


def _make_facts(folder: Path, proposal: dict[str, Any], root: Path, log: Log) -> dict[str, Any]:
    older, newer = load_alone(folder / "older"), load_alone(folder / "benchmark")
    tree = fetch(older, folder / "older", log)
    name = f"{newer.name}-{newer.version}"
    lock = (folder / "older" / "locks" / f"{older.environment}.txt").read_text(encoding="utf-8")
    write_whole(root / "locks" / f"{name}.txt", lock)
    facts = {
        key: proposal[key] for key in ("id", "project", "taken", "files", "hidden", "visible", "unchanged", "seconds")
    }
    measure = proposal["measure"]
    return facts | {
        "version": older.version,
        "older": older.model_copy(update={"environment": name}),
        "newer": newer.model_copy(update={"environment": name}),
        "lines": measure["added"],
        "definitions": measure["definitions"],
        "mutants": proposal["mutants"],
        "killed": proposal["killed"],
        "required_names": [],
        "sha256": hash_skeleton(Release.model_construct(files=proposal["files"]).reduce(tree)),
    }
