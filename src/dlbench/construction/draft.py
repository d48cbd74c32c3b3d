"""Let a model draft prompts from code and docstrings, as a starting point for a person.

A draft is never a benchmark prompt: it may quote its source and may be wrong. It carries a marker, and `dlbench check`
rejects an instance whose prompt has the marker.
"""

from collections.abc import Callable
from pathlib import Path

from dlbench.construction.work_folder import Row, WorkFolder
from dlbench.dataset.leakage import UNREVIEWED, find_leaks
from dlbench.dataset.prompt_context import fenced
from dlbench.dataset.target import find_target
from dlbench.generation.model import Message, Request
from dlbench.generation.retry import RateLimiter
from dlbench.jsonl import Journal
from dlbench.parsing import parse

_INSTRUCTIONS = """\
Describe what this function does, so that a person who knows deep learning but not this project could write it from your
description alone. Say in plain sentences: what it computes and why it is there; each parameter with its type, shape and
default; what it returns, with type and shape; which errors it raises and when; boundary cases; conventions that its
callers rely on. Use between 40 and 250 words. Do not quote code and do not copy the documentation.
"""


async def draft_prompt(limiter: RateLimiter, row: Row, source: str) -> Row:
    """Write a draft and list what it copied. `source` is the function's module."""
    module = parse(source)
    target = find_target(source, row["qualname"], module)
    question = f"{_INSTRUCTIONS}\nFunction `{row['qualname']}` of {row['path']}:\n\n{fenced(target.text)}"
    messages: list[Message] = [
        {"role": "system", "content": "You write precise specifications of Python functions."},
        {"role": "user", "content": question},
    ]
    answer = await limiter.ask(Request(instance_id=row["id"], sample=0, messages=messages, max_tokens=400))
    text = answer.text.strip()
    copied = [leak.what for leak in find_leaks(text, module, target)]
    return {"id": row["id"], "prompt": UNREVIEWED + text, "by": limiter.model.name, "taken": copied}


async def draft_project(
    work: WorkFolder,
    project: str,
    tree: Path,
    limiter: RateLimiter,
    *,
    most: int | None,
    on_draft: Callable[[str], None],
) -> int:
    """Draft what is missing, saving each draft at once. Returns the number of drafts that exist."""
    measured = work.read_by_id("measured", project)
    rows = [row for row in work.read("functions", project) if measured.get(row["id"], {}).get("admissible")]
    with Journal(work.path("drafts", project)) as journal:
        known = {row["id"] for row in journal.records()}
        for row in [row for row in rows if row["id"] not in known][:most]:
            source = (tree / row["path"]).read_text(encoding="utf-8")
            journal.append(await draft_prompt(limiter, row, source))
            known.add(row["id"])
            on_draft(row["id"])
    return len(known)
