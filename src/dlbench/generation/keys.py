"""How is a key kept out of everything that is written or shown?

Endpoints repeat the key in what they refuse, programs print their environment, and a run folder is shared. Whatever
comes from outside passes through `hide` before it is said or kept.
"""

import os
import re

# What is shorter stands in code and prose as well: hidden there, it would change an answer.
_SHORTEST = 8
_NAMES = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_SHOWN = 300


class Secrets:
    """These keys, and those that the environment names as such."""

    def __init__(self, *keys: str) -> None:
        planted = (value for name, value in os.environ.items() if _NAMES.search(name))
        # The longest first: one may begin with another.
        self._keys = sorted({key for key in (*keys, *planted) if len(key) >= _SHORTEST}, key=len, reverse=True)

    def hide(self, text: str) -> str:
        for key in self._keys:
            if key in text:
                text = text.replace(key, "***")
        return text


def shorten(text: str, *, end: bool = False) -> str:
    """One line of it for a message: its beginning, or its end."""
    line = " ".join(text.split())
    if len(line) <= _SHOWN:
        return line
    return "…" + line[-_SHOWN:] if end else line[:_SHOWN] + "…"
