"""A model server that replays tool calls, and runs of agents against it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from dlbench.cli import app
from tests.execution.file_task_toy import RIGHT
from tests.generation.endpoint import Endpoint, Reply, completion

KEY = "sk-a-secret-of-the-user"
Call = tuple[str, dict[str, str]]
SOLVE: list[Call] = [("edit", {"path": path, "old": "", "new": text}) for path, text in RIGHT.items()]


def bash(command: str) -> Call:
    return "bash", {"command": command}


def play(calls: Sequence[Call]) -> Endpoint:
    """Asks for the calls one after the other in each conversation, then ends it."""

    def reply(number: int, body: dict[str, Any]) -> Reply:
        step = sum(message["role"] == "assistant" for message in body["messages"])
        if step >= len(calls):
            return completion("done")
        name, arguments = calls[step]
        function = {"name": name, "arguments": json.dumps(arguments)}
        return completion(f"step {step}", tool_calls=[{"id": f"call-{step}", "type": "function", "function": function}])

    return Endpoint(reply)


@dataclass(frozen=True)
class Done:
    status: int
    text: str
    out: Path

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / "verdicts.jsonl").read_text().splitlines()]

    @property
    def folder(self) -> Path:
        return next((self.out / "attempts").glob("*/*-0"))

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "requests.jsonl").read_text().splitlines()]

    @property
    def outputs(self) -> list[str]:
        """What the tools answered."""
        new = [message for request in self.requests for message in request.get("new", [])]
        return [message["content"] for message in new if message["role"] == "tool"]


def run_agent(toys: Path, out: Path, *options: object) -> Done:
    words = ["agent", "run", "--benchmark", toys, "--out", out, *options]
    done = CliRunner(env={"DLBENCH_API_KEY": KEY}).invoke(app, list(map(str, words)), catch_exceptions=False)
    return Done(done.exit_code, done.output, out)


def run_builtin(toys: Path, out: Path, calls: Sequence[Call], *options: object) -> Done:
    with play(calls) as endpoint:
        return run_agent(toys, out, "--agent", "builtin", "--model", "m", "--base-url", endpoint.url, *options)
