"""Which admissible functions have a draft, and which still want one? One at a time, each kept at once."""

from collections.abc import Callable
from pathlib import Path

from dlbench.construction.draft import draft_prompt
from dlbench.construction.work import Work
from dlbench.generation.retry import RateLimiter
from dlbench.jsonl import Journal


async def draft_project(
    work: Work, project: str, tree: Path, gate: RateLimiter, *, most: int | None, on_draft: Callable[[str], None]
) -> int:
    """How many there are now."""
    admissible = {row["id"] for row in work.read_last("measured", project) if row["admissible"]}
    rows = [row for row in work.read("functions", project) if row["id"] in admissible]
    with Journal(work.path("drafts", project)) as journal:
        known = {row["id"] for row in journal.records()}
        for row in [row for row in rows if row["id"] not in known][:most]:
            source = (tree / row["path"]).read_text(encoding="utf-8")
            journal.append(await draft_prompt(gate, row, source))
            known.add(row["id"])
            on_draft(row["id"])
    return len(known)
