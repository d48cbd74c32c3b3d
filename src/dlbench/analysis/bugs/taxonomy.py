"""Which kinds of bugs are told apart?

Those of the DL-Bench paper, from a data file in our own words. A category that rules, judge and people would each read
in their own way makes their agreement worthless, so all of them are shown the same text.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OTHER = "other"
"""The kind that has nothing to do with deep learning."""


@dataclass(frozen=True)
class Kind:
    """A subcategory."""

    slug: str
    meaning: str
    seen: int
    """How often the paper counted it."""


@dataclass(frozen=True)
class Category:
    slug: str
    name: str
    meaning: str
    seen: int
    kinds: Mapping[str, Kind]
    """By slug; the last is `other`."""


@cache
def read_categories() -> Mapping[str, Category]:
    text = Path(__file__).with_name("categories.toml").read_text(encoding="utf-8")
    return {one["slug"]: _read(one) for one in tomllib.loads(text)["category"]}


def _read(one: dict[str, object]) -> Category:
    given = one.get("kinds", {})
    assert isinstance(given, dict)
    kinds = {slug: Kind(slug, kind["meaning"], kind["seen"]) for slug, kind in given.items()}
    other = one["other"]
    assert isinstance(other, int)
    kinds[OTHER] = Kind(OTHER, "It has nothing to do with deep learning.", other)
    slug, name, meaning, seen = (one[key] for key in ("slug", "name", "meaning", "seen"))
    assert isinstance(seen, int)
    return Category(str(slug), str(name), str(meaning), seen, kinds)
