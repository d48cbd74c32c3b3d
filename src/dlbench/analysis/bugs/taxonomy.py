"""Load the bug taxonomy of the DL-Bench paper: 14 categories with their subcategories.

The text is ours (`categories.toml`). Rules, LLM judge and annotators all work from the same definitions; otherwise
their agreement would mean nothing.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dlbench.errors import DLBenchError

OTHER = "other"
"""The subcategory of bugs that are unrelated to deep learning."""


@dataclass(frozen=True)
class Category:
    slug: str
    name: str
    meaning: str
    seen: int
    """Count in the paper."""
    kinds: Mapping[str, int]
    """The subcategories with their counts in the paper; the last is `other`."""


@cache
def read_categories() -> Mapping[str, Category]:
    text = Path(__file__).with_name("categories.toml").read_text(encoding="utf-8")
    return {record["slug"]: _parse(record) for record in tomllib.loads(text)["category"]}


def check_category(name: object, where: str) -> str:
    known = read_categories()
    if not isinstance(name, str) or name not in known:
        raise DLBenchError(f"unknown category {name!r}", where=where, fix=f"use one of: {', '.join(known)}")
    return name


def _parse(record: dict[str, Any]) -> Category:
    kinds = {slug: kind["seen"] for slug, kind in record.get("kinds", {}).items()} | {OTHER: record["other"]}
    return Category(record["slug"], record["name"], record["meaning"], record["seen"], kinds)
