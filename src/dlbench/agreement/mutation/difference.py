"""What did an operator change, word by word? Prompts have long lines: a difference by line would show all of them."""

import re
from difflib import SequenceMatcher

_TOKENS = re.compile(r"\s+|`[^`\n]*`|\w+|[^\w\s]")


def show_difference(before: str, after: str) -> str:
    """The new text with what went in `[-…-]` and what came in `{+…+}`."""
    old, new = _TOKENS.findall(before), _TOKENS.findall(after)
    parts: list[str] = []
    for kind, start, end, from_, to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "".join(old[start:end]), "".join(new[from_:to])
        if kind == "equal":
            parts.append(come)
            continue
        parts += [f"[-{gone}-]"] if gone else []
        parts += [f"{{+{come}+}}"] if come else []
    return "".join(parts)
