"""What did the model say to itself, and what to us?

Reasoning holds drafts in fences that look exactly like the answer. Taken for the answer, a draft that the model itself
threw away would be judged.
"""

import re

# Quoted, a tag is text that the code works on, not markup of the answer.
_NAME = r"(?:think|thinking|thought|reasoning)"
_TAG = re.compile(
    rf"(?P<open>^[ \t]*<{_NAME}(?:\s[^<>]*)?>)|(?P<close>(?<![\"'])(?<!(?<!`)`)</{_NAME}\s*>(?![\"'\\]|`(?!``)))",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})(.*)$", re.MULTILINE)


def without_reasoning(text: str) -> tuple[str, bool]:
    """What the model said to us, and whether it was still talking to itself when the answer ended."""
    kept = ""
    here = look = 0
    while (tag := _TAG.search(text, look)) is not None:
        look = tag.end()
        if _in_fence(text, here, tag.start()):
            continue
        if tag["open"]:
            end = _end(text, look)
            kept += text[here : tag.start()]
            if end is None:
                return kept, True
            here = look = end
        else:
            # Many chat templates put the opening tag into the prompt: the answer has the closing one only.
            kept, here = "", look
    return kept + text[here:], False


def _in_fence(text: str, start: int, end: int) -> bool:
    """Whether a fence that opened after `start` is still open at `end`."""
    opened = ""
    for fence in _FENCE.finditer(text, start, end):
        mark, info = fence[1], fence[2]
        if not opened:
            opened = mark
        elif mark.startswith(opened) and not info.strip():
            opened = ""
    return bool(opened)


def _end(text: str, start: int) -> int | None:
    return next((tag.end() for tag in _TAG.finditer(text, start) if tag["close"]), None)
