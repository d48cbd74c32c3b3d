"""Load the bug taxonomy of the DL-Bench paper: 14 categories.

The text is ours (`categories.toml`). LLM judge and annotators work from the same definitions; otherwise their agreement
would mean nothing.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dlbench.errors import DLBenchError


@dataclass(frozen=True)
class Category:
    slug: str
    name: str
    meaning: str
    seen: int
    """Count in the paper."""


@cache
def read_categories() -> Mapping[str, Category]:
    text = Path(__file__).with_name("categories.toml").read_text(encoding="utf-8")
    return {record["slug"]: Category(**record) for record in tomllib.loads(text)["category"]}


def check_category(name: object, where: str) -> str:
    known = read_categories()
    if not isinstance(name, str) or name not in known:
        raise DLBenchError(f"unknown category {name!r}", where=where, fix=f"use one of: {', '.join(known)}")
    return name
