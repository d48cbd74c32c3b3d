"""Resolve `--model NAME` to a model client by a registry; help texts are generated from it.

A client registers for a name or a pattern (`file:*`). The first pattern that matches wins; `*`, any OpenAI-compatible
endpoint, comes last.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from dlbench.errors import DLBenchError
from dlbench.registry import Registry
from dlbench.workspace.home import Log, quiet

if TYPE_CHECKING:
    from dlbench.generation.model import Model
    from dlbench.generation.sources import Sources

COMMAND = "--model-command"


@dataclass(frozen=True)
class ModelOptions:
    """The user's options for opening models; each client reads those that it needs."""

    base_url: str | None = None
    api_key: str | None = None
    command: str | None = None
    timeout: float = 300.0
    stream: bool = False
    reasoning: bool = False
    concurrency: int = 4
    port: int = 0
    top_p: float | None = None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    sources: "Sources | None" = None
    log: Log = quiet

    def names(self, requested: list[str] | None) -> list[str]:
        """The models to open, each once; options that none of them uses are refused."""
        if self.base_url and not requested and not self.command:
            raise DLBenchError("--base-url requires --model", where="--base-url", fix="add --model NAME")
        names = list(dict.fromkeys(requested or ["command" if self.command else "embedded"]))
        if self.command and len(names) > 1:
            fix = "pass at most one --model, the name of the program"
            raise DLBenchError(f"one program cannot be {len(names)} models", where=COMMAND, fix=fix)
        # An ignored option means that another model is evaluated than the user expects.
        used = {option for name in names for option in self._client(name).uses}
        options: dict[str, object] = {"--port": self.port, "--base-url": self.base_url, "--api-key": self.api_key}
        options |= {"--stream": self.stream, "--reasoning": self.reasoning, "--top-p": self.top_p}
        options |= {"--reasoning-effort": self.reasoning_effort, "--extra-body": self.extra_body}
        options |= {"--header": self.headers}
        if unused := [option for option, value in options.items() if value and option not in used]:
            subject, fix = COMMAND if self.command else ", ".join(names), "remove it, or choose a model that uses it"
            raise DLBenchError(f"{subject} does not use {', '.join(unused)}", where=unused[0], fix=fix)
        return names

    def open(self, name: str, sources: "Sources | None" = None, log: Log = quiet) -> "Model":
        """`reference` and `stub` need `sources`."""
        return self._client(name).open(name, replace(self, sources=sources, log=log))

    def _client(self, name: str) -> "ModelClient":
        if self.command:
            return CLIENTS[COMMAND]
        return next(client for pattern, client in CLIENTS.items() if fnmatchcase(name, pattern))


@dataclass(frozen=True)
class ModelClient:
    """`label` and `summary` document the client; `uses`: those of the options for single clients, such as
    --base-url, that it reads."""

    label: str
    summary: str
    open: Callable[[str, ModelOptions], "Model"]
    uses: tuple[str, ...] = ()


CLIENTS: Registry[ModelClient] = Registry("model client", "dlbench.generation")


def add_client(pattern: str, client: ModelClient, *, order: int = 100) -> ModelClient:
    """Register a client for the names that match a glob pattern; `order` is its place in matching and help texts."""
    return CLIENTS.add(pattern, client, order=order)


def describe_clients() -> str:
    """The labels of all clients, for the help of --model."""
    *labels, last = [client.label for pattern, client in CLIENTS.items() if pattern != COMMAND]
    return f"{', '.join(labels)}, or {last}"
