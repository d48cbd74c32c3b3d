"""Solve a task with a model, a bash tool and an edit tool; this script runs in the agent's sandbox.

It needs nothing but Python and bash. Arguments: the model's name, the folder, the task.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

_SYSTEM = """You are a software engineer. Solve the task in {folder}, the working directory of every command. No person
answers questions. Read before you write, run the visible tests, and fix what fails. There is no network.
When the work is complete, answer without a tool call."""
_STEPS, _RETRIES, _COMMAND_SECONDS, _SHOWN = 500, 8, 600, 16_000
_BASH = "Run a bash command; each starts in the working directory."
_EDIT = "Replace the only occurrence of `old` in a file by `new`; an empty `old` writes the whole file."


def describe_tool(name: str, text: str, *arguments: str) -> dict[str, Any]:
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}


_TOOLS = [describe_tool("bash", _BASH, "command"), describe_tool("edit", _EDIT, "path", "old", "new")]


def bash(command: str) -> str:
    with tempfile.TemporaryFile() as output:
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(["bash", "-c", command], start_new_session=True, **streams)  # type: ignore[call-overload]
        try:
            ending = f"exit status {process.wait(_COMMAND_SECONDS)}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            ending = f"stopped after {_COMMAND_SECONDS} s"
        size = output.seek(0, os.SEEK_END)
        output.seek(0)
        text = output.read(_SHOWN // 2)
        if size > _SHOWN:
            text += f"\n… {size - _SHOWN} bytes left out …\n".encode()
        output.seek(max(len(text), size - _SHOWN // 2))
        return f"{(text + output.read()).decode(errors='replace')}\n({ending})"


def edit(path: str, old: str, new: str) -> str:
    place = Path(path)
    if not old:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(new, encoding="utf-8")
        return f"wrote {path}"
    text = place.read_text(encoding="utf-8")
    if text.count(old) != 1:
        return f"`old` occurs {text.count(old)} times in {path}; nothing was changed"
    place.write_text(text.replace(old, new), encoding="utf-8")
    return f"changed {path}"


def call(name: str, arguments: str) -> str:
    try:
        values = json.loads(arguments or "{}")
        return bash(**values) if name == "bash" else edit(**values)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def ask(model: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    body = json.dumps({"model": model, "messages": messages, "tools": _TOOLS}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    for attempt in range(_RETRIES + 1):
        try:
            with urllib.request.urlopen(request) as response:
                message: dict[str, Any] = json.load(response)["choices"][0]["message"]
                return message
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            if error.code not in (408, 409, 425, 429, 500, 502, 503, 504, 529):
                raise RuntimeError(f"HTTP {error.code}: {text[:500]}") from None
            problem = f"HTTP {error.code} {text[:200]}"
        except (OSError, ValueError, LookupError) as error:
            problem = repr(error)
        if attempt < _RETRIES:
            print(f"· {problem}; trying again", flush=True)
            time.sleep(min(60, 2**attempt))
    raise RuntimeError(f"no answer after {_RETRIES} retries: {problem}")


def shorten(messages: list[dict[str, Any]]) -> bool:
    """Leave out the older half of the tools' output; False if there is none."""
    outputs = [one for one in messages if one["role"] == "tool" and len(one["content"]) > 200]
    for one in outputs[: (len(outputs) + 1) // 2]:
        one["content"] = "(left out to save space)"
    return bool(outputs)


def main(model: str, folder: str, task: str) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _SYSTEM.format(folder=folder)},
        {"role": "user", "content": task},
    ]
    for step in range(_STEPS):
        try:
            message = ask(model, messages)
        except RuntimeError as error:
            if "context" in str(error) and shorten(messages):
                continue
            raise
        calls = message.get("tool_calls") or []
        print(f"{step + 1}: {message.get('content') or ''}", flush=True)
        messages.append({key: message[key] for key in ("role", "content", "tool_calls") if message.get(key)})
        for one in calls:
            function = one["function"]
            print(f"> {function['name']} {function['arguments'][:2000]}", flush=True)
            result = call(function["name"], function["arguments"])
            print(result[-2000:], flush=True)
            messages.append({"role": "tool", "tool_call_id": one["id"], "content": result})
        if not calls:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
