"""What did the model say to itself, and what to us?

Reasoning holds drafts in fences that look exactly like the answer. Taken for the answer, a draft that the model itself
threw away would be judged. So code that stands only in reasoning is no answer, and reasoning that never ends is an
answer that was cut off. Models mark it by tags, by brackets or by channels; where a server dropped the special tokens,
the channels' bare names are left.
"""

import re
from itertools import islice

from dlbench.extraction.repairs import repair

_NAME = r"(?:seed:)?(?:think|thinking|thoughts?|reasoning|analysis|scratchpad|reflection)"
_OPEN = rf"<{_NAME}(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>"
_CLOSE = rf"</{_NAME}\s*>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>"
# Quoted, a tag is text that the code works on, not markup of the answer.
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

_TURN_END = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|end|return|end_of_text|END_RESPONSE|END_OF_TURN_TOKEN|end_of_solution)\|>"
    r"|</s>|<end_of_turn>|<｜end▁of▁sentence｜>"  # noqa: RUF001
)
_MOST_TOKENS = 50
_TURN_START = re.compile(r"\s*(?:<\|(?:START_RESPONSE|begin_of_solution)\|>|<s>|<\|im_start\|>assistant)")


def without_reasoning(text: str) -> tuple[str, bool]:
    """What the model said to us, and whether it was still talking to itself when the answer ended."""
    if _CHANNELS.match(text):
        final = [found[2] for found in _CHANNEL.finditer(text) if found[1] == "final"]
        return "\n".join(final), not final
    if _BARE_CHANNEL.match(text):
        _, mark, said = text.rpartition("assistantfinal")
        return (said, False) if mark else ("", True)
    kept, endless = _without_tags(text)
    return _one_turn(kept), endless


def _without_tags(text: str) -> tuple[str, bool]:
    kept = ""
    here = look = 0
    while (tag := _TAG.search(text, look)) is not None:
        look = tag.end()
        if _open_fence(text, here, tag.start()) is not None:
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


def _one_turn(text: str) -> str:
    """Up to the token that ends the model's turn: what a model says after it is a dialogue with itself."""
    start = _TURN_START.match(text)
    text = text[start.end() :] if start else text
    for token in islice(_TURN_END.finditer(text), _MOST_TOKENS):
        after = text[token.end() :]
        if text[: token.start()].strip() and (not after.strip() or after[0] == "\n"):
            opened = _open_fence(text, 0, token.start())
            # Inside a fence it may be the code's own, in a template for chats; after whole code it is not.
            if opened is None or repair(text[opened : token.start()].rstrip("`\n ")) is not None:
                return text[: token.start()]
    last = text.rstrip()
    while (tail := re.search(rf"(?:{_TURN_END.pattern})\Z", last)) is not None:
        last = last[: tail.start()].rstrip()
    return last


def _open_fence(text: str, start: int, end: int) -> int | None:
    """Where the content of a fence begins that opened after `start` and is still open at `end`."""
    opened, content = "", 0
    for fence in _FENCE.finditer(text, start, end):
        mark, info = fence[1], fence[2]
        if not opened:
            opened, content = mark, fence.end()
        elif mark.startswith(opened) and not info.strip():
            opened = ""
    return content if opened else None


def _end(text: str, start: int) -> int | None:
    return next((tag.end() for tag in _TAG.finditer(text, start) if tag["close"]), None)
