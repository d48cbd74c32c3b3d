"""How is text written into a record, so that it is read back the same? As TOML that people like to read."""

import json
import re
from collections.abc import Sequence

_UNPRINTABLE = r"[\x00-\x08\x0b-\x1f\x7f]"


def quote(value: str | Sequence[str]) -> str:
    # JSON's escapes are TOML's, but for the one character that JSON leaves as it is
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def quote_text(text: str) -> str:
    """Literal where that can be, so that backslashes stay what they are."""
    if "'''" in text or re.search(_UNPRINTABLE, text) or text.endswith("'"):
        return quote(text)
    return f"'''\n{text}'''"
