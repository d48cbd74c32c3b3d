"""How much of one function stands in another?

Two texts are compared by the runs of five tokens they hold. Construction asks it to keep one of several copies;
generation asks it so that an example in a prompt never shows what the prompt asks for.
"""

import re

SHINGLE = 5
_TOKEN = re.compile(r"\w+|[^\w\s]")

Shingles = set[tuple[str, ...]]


def shingle(text: str) -> Shingles:
    tokens = _TOKEN.findall(text)
    return {tuple(tokens[start : start + SHINGLE]) for start in range(max(1, len(tokens) - SHINGLE + 1))}


def share_shown(asked: Shingles, shown: Shingles) -> float:
    """The share of `asked` that `shown` holds: near copies have a high one, and so has a longer text around a copy."""
    return len(asked & shown) / len(asked)
