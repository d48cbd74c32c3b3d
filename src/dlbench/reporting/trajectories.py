"""Read what an agent did in an attempt: its steps, commands, outputs and patch, cut to what a page can show."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

ATTEMPTS = "attempts"
_MOST_STEPS, _MOST_TEXT, _MOST_PATCH, _MOST_LOG = 500, 4_000, 200_000, 20_000
_RESULTS = ("tool_result", "function_call_output", "computer_call_output")


def read_trajectory(folder: Path, record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of a verdict in a run folder; None if its attempt was not made by `agent run`."""
    place = folder / ATTEMPTS / f"{record['instance']}-{record['sample']}"
    if "agent" not in record or not place.is_dir():
        return None
    steps = read_steps(place / "requests.jsonl")
    patch = _read(place / "diff.patch")
    found: dict[str, Any] = {"facts": record["agent"], "leaks": record.get("leaks", []), "steps": steps[:_MOST_STEPS]}
    found |= {"more_steps": max(0, len(steps) - _MOST_STEPS)}
    found |= {"patch": patch[:_MOST_PATCH], "more_patch": max(0, len(patch) - _MOST_PATCH)}
    return found if steps else found | {"log": cut(_read(place / "output.log"), _MOST_LOG)}


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def cut(text: str, most: int = _MOST_TEXT) -> str:
    """Without the middle of a long text."""
    shortened = f"{text[: most // 2]}\n… {len(text) - most} characters …\n{text[-most // 2 :]}"
    return text if len(text) <= most else shortened


def read_steps(path: Path) -> list[dict[str, Any]]:
    """A step is an answer of the model: what it says, what it calls, and the outputs that it is sent next. Addresses
    that the relay refused belong to the step before them."""
    try:
        entries = [entry for _, entry in read_lines(path)] if path.is_file() else []
    except DLBenchError:  # of an attempt that was killed
        entries = []
    steps: list[dict[str, Any]] = [{"says": None, "calls": None, "outputs": [], "refused": []}]  # before: the task
    for entry in entries:
        for message in [*entry.get("new", ()), *entry.get("answers", ())]:
            says, calls, outputs = read_message(message)
            says = cut(says)
            if not (isinstance(message, dict) and (message.get("role") == "assistant" or calls)):
                steps[-1]["outputs"] += map(cut, outputs) if outputs or not says else [says]
            elif (steps[-1]["says"], steps[-1]["calls"]) != (says, calls):
                # otherwise an answer comes again, as a message of the next request
                steps.append({"says": says, "calls": calls, "outputs": [], "refused": []})
        if "refused" in entry:
            steps[-1]["refused"].append(entry["refused"])
        if entry.get("error"):
            steps[-1]["outputs"].append(cut(str(entry["error"])))
    return steps[1:]


def read_message(message: object) -> tuple[str, list[str], list[str]]:
    """What a message says, the calls of tools in it, and the outputs of tools, in the usual formats."""
    if not isinstance(message, dict):
        return ("", [], [])
    calls = [_render_call(one.get("function")) for one in message.get("tool_calls") or () if isinstance(one, dict)]
    if message.get("type") in ("function_call", "custom_tool_call"):
        calls.append(_render_call(message))
    if message.get("role") == "tool" or message.get("type") in _RESULTS:
        return ("", [], [_join(message.get("content", message.get("output")))])
    content, outputs = message.get("content"), []
    texts = []
    for part in content if isinstance(content, list) else [content]:
        match part:
            case {"type": "tool_use"}:
                calls.append(_render_call(part))
            case {"type": str(kind), **rest} if kind in _RESULTS:
                outputs.append(_join(rest.get("content", rest.get("output"))))
            case _:
                texts.append(_join(part))
    return ("\n".join(filter(None, texts)), calls, outputs)


def _render_call(call: object) -> str:
    """The name of the tool and its arguments; a single argument, such as a command, as it is."""
    if not isinstance(call, dict):
        return ""
    values = call.get("arguments", call.get("input"))
    try:
        values = json.loads(values) if isinstance(values, str) else values
    except (ValueError, RecursionError):
        pass
    if isinstance(values, dict):
        texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in values.values()]
        named = (f"{name}: {text}" for name, text in zip(values, texts, strict=True))
        values = texts[0] if len(texts) == 1 else "\n".join(named)
    return f"{call.get('name', '')} {cut(str(values or ''))}".strip()


def _join(content: object) -> str:
    match content:
        case str(text) | {"text": str(text)}:
            return text
        case list(parts):
            return "\n".join(filter(None, map(_join, parts)))
    return ""
