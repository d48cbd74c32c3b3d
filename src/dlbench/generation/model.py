"""Define what a model is, a name and an asynchronous `answer`, and resolve `--model NAME` to a client by a registry.

A client registers for a name or a pattern (`file:*`). The first pattern that matches wins; `*`, any OpenAI-compatible
endpoint, comes last. A failure is an error, never an answer, which would be scored. Of the two baselines, `reference`
must pass every test and `stub` must fail every test; otherwise the harness is wrong, and so is every score.
"""

import textwrap
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from dlbench.dataset.target import fenced
from dlbench.errors import DLBenchError
from dlbench.extraction.syntax import dedent
from dlbench.registry import Registry
from dlbench.workspace.home import Log, quiet

if TYPE_CHECKING:
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
    written: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    """By baseline, what gives its answer to an instance, for tracks of which `sources` knows nothing."""
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
    """`label` and `summary` document the client; `uses`: the client-specific options that it reads."""

    label: str
    summary: str
    open: Callable[[str, ModelOptions], "Model"]
    uses: tuple[str, ...] = ()


CLIENTS: Registry[ModelClient] = Registry("model client", "dlbench.generation")

add_client = CLIENTS.add
"""Register a client for the names that match a glob pattern; `order` is its place in matching and help texts."""


def describe_clients() -> str:
    """The labels of all clients, for the help of --model."""
    *labels, last = [client.label for pattern, client in CLIENTS.items() if pattern != COMMAND]
    return f"{', '.join(labels)}, or {last}"


RESUME = "finished work is kept; run the same command again to resume"


class Message(TypedDict):
    role: str
    content: str


Review = Callable[["Answer"], Awaitable[tuple[Mapping[str, Any], list[Message]]]]
"""Has an answer judged: gives status and tests of its verdict, and the next turn, or no message to end there."""


@dataclass(frozen=True)
class Request:
    """`messages` are sent first, then each of `follow_ups` after the previous answer; the last answer is the sample. A
    follow-up is a turn, or a review of the answer, which makes the turn. `turn` is the number of previous turns.
    `notes` are further fields of the sample's record."""

    instance_id: str
    sample: int
    messages: list[Message]
    temperature: float = 0.0
    max_tokens: int = 2048
    seed: int | None = None
    follow_ups: tuple[list[Message] | Review, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    turn: int = 0


@dataclass(frozen=True)
class Answer:
    """`reasoning` is what the endpoint itself separates from the answer. `refusal` is the endpoint's message that
    prompt and `max_tokens` together exceed the model's context. `verdict` is what a review gives."""

    text: str
    usage: dict[str, Any] = field(default_factory=dict)
    finish_reason: str = "stop"
    seconds: float = 0.0
    reasoning: str = ""
    refusal: str = ""
    verdict: Mapping[str, Any] = field(default_factory=dict)


class TransientError(DLBenchError):
    """A failure that a retry may fix. `after`: seconds that the endpoint asks to wait, 0 to retry immediately.
    `fallback_answer`: the answer to record if every attempt fails this way."""

    def __init__(
        self, what: str, *, after: float | None = None, fallback_answer: Answer | None = None, **place: str
    ) -> None:
        super().__init__(what, **place)
        self.after = after
        self.fallback_answer = fallback_answer


class Model(Protocol):
    """Handles concurrent requests, all in one event loop."""

    name: str
    is_free: bool = False
    """Whether requests cost nothing because the model runs in or beside this process."""
    max_tokens: int = 16384
    """Default limit on completion tokens: it leaves room to reason, and fits a context of 32k."""
    address: str = ""
    """The address of its endpoint without credentials, for the run's configuration."""

    async def answer(self, request: Request) -> Answer: ...

    def payload(self, request: Request) -> dict[str, Any]:
        """What is sent, for the request log; without the API key."""
        return {"model": self.name, "messages": request.messages}

    def describe_sampling(self, temperature: float, max_tokens: int) -> dict[str, float | int | None]:
        """The sampling settings in the run's configuration."""
        return {"temperature": temperature, "max_tokens": max_tokens}

    async def close(self) -> None:
        """Release resources, in the event loop that used them."""
        return


class WrittenModel(Model):
    """A baseline: `write` gives the whole answer to a request."""

    is_free = True

    def __init__(self, name: str, write: Callable[[Request], str]) -> None:
        self.name, self._write = name, write

    async def answer(self, request: Request) -> Answer:
        return Answer(self._write(request))


class ReferenceModel(WrittenModel):
    """`source_of` returns the code of an instance."""

    def __init__(self, source_of: Callable[[str], str]) -> None:
        super().__init__("reference", lambda request: fenced(dedent(source_of(request.instance_id))))


class StubModel(WrittenModel):
    """`source_of` returns the `def` line or lines of an instance, without decorators."""

    def __init__(self, source_of: Callable[[str], str]) -> None:
        def write(request: Request) -> str:
            signature = textwrap.dedent(source_of(request.instance_id)).strip().removesuffix(":")
            return fenced(f"{signature}:\n    raise NotImplementedError")

        super().__init__("stub", write)


def _open_baseline(name: str, options: ModelOptions) -> Model:
    if write := options.written.get(name):
        return WrittenModel(name, lambda request: write(request.instance_id))
    if options.sources is None:
        raise DLBenchError(f"{name} needs the sources of a benchmark", where="--model", fix="choose another model")
    return ReferenceModel(options.sources.reference) if name == "reference" else StubModel(options.sources.signature)


add_client("reference", ModelClient("reference", "the project's own code: must score 100 %", _open_baseline), order=2)
add_client("stub", ModelClient("stub", "a function that raises: must score 0 %", _open_baseline), order=3)
