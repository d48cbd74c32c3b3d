"""Remove reasoning from an answer: tags, brackets, channels, and the channels' names where special tokens were dropped.

Reasoning holds drafts in fences that look exactly like the answer, and the model itself discarded them. So code in
reasoning alone is no answer, and reasoning that never ends is a truncated answer.
"""

import re
from itertools import islice

from dlbench.extraction.syntax import repair

_NAME = r"(?:seed:)?(?:think|thinking|thoughts?|reasoning|analysis|scratchpad|reflection)"
_OPEN = rf"<{_NAME}(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>"
_CLOSE = rf"</{_NAME}\s*>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>"
# A quoted tag is text that the code works on, not markup of the answer.
_TAG = re.compile(
    rf"(?P<open>^[ \t]*(?:{_OPEN}))|(?P<close>(?<![\"'])(?<!(?<!`)`)(?:{_CLOSE})(?![\"'\\]|`(?!``)))",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})(.*)$", re.MULTILINE)

_CHANNELS = re.compile(r"\s*(?:<\|start\|>\w*)?<\|channel\|>")
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(\w+)[^<]*<\|message\|>(.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)", re.DOTALL
)
_BARE_CHANNEL = re.compile(r"\s*analysis(?=[A-Z]|.*?assistantfinal)", re.DOTALL)

_TURN_START = re.compile(r"\s*(?:<\|(?:START_RESPONSE|begin_of_solution)\|>|<s>|<\|im_start\|>assistant)")
_TURN_END = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|end|return|end_of_text|END_RESPONSE|END_OF_TURN_TOKEN|end_of_solution)\|>"
    r"|</s>|<end_of_turn>|<｜end▁of▁sentence｜>"  # noqa: RUF001
)
_MAX_TOKENS = 50


def without_reasoning(text: str) -> tuple[str, bool]:
    """The answer proper, and whether the text ends inside reasoning."""
    if _CHANNELS.match(text):
        final = [found[2] for found in _CHANNEL.finditer(text) if found[1] == "final"]
        return "\n".join(final), not final
    if _BARE_CHANNEL.match(text):
        _, mark, final_text = text.rpartition("assistantfinal")
        return (final_text, False) if mark else ("", True)
    kept, is_open = _without_tags(text)
    return _first_turn(kept), is_open


def _without_tags(text: str) -> tuple[str, bool]:
    kept = ""
    here = position = 0
    while (tag := _TAG.search(text, position)) is not None:
        position = tag.end()
        if _find_open_fence(text, here, tag.start()) is not None:
            continue
        if tag["open"]:
            kept += text[here : tag.start()]
            end = next((tag.end() for tag in _TAG.finditer(text, position) if tag["close"]), None)
            if end is None:
                return kept, True
            here = position = end
        else:
            # Many chat templates put the opening tag into the prompt: the answer has the closing one only.
            kept, here = "", position
    return kept + text[here:], False


def _first_turn(text: str) -> str:
    """The text up to the token that ends the model's turn: anything after it is a dialogue with itself."""
    start = _TURN_START.match(text)
    text = text[start.end() :] if start else text
    for token in islice(_TURN_END.finditer(text), _MAX_TOKENS):
        after = text[token.end() :]
        if text[: token.start()].strip() and (not after.strip() or after[0] == "\n"):
            opened = _find_open_fence(text, 0, token.start())
            # Inside a fence the token may belong to the code (a chat template); after whole code it does not.
            if opened is None or repair(text[opened : token.start()].rstrip("`\n ")) is not None:
                return text[: token.start()]
    last = text.rstrip()
    while (tail := re.search(rf"(?:{_TURN_END.pattern})\Z", last)) is not None:
        last = last[: tail.start()].rstrip()
    return last


def _find_open_fence(text: str, start: int, end: int) -> int | None:
    """Where the content of a fence begins that opens after `start` and is still open at `end`."""
    opened, content = "", 0
    for fence in _FENCE.finditer(text, start, end):
        mark, info = fence[1], fence[2]
        if not opened:
            opened, content = mark, fence.end()
        elif mark.startswith(opened) and not info.strip():
            opened = ""
    return content if opened else None
