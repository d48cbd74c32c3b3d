"""Define what a model is: a name and an asynchronous `answer`; with the two baselines, `reference` and `stub`.

A failure is an error, never an answer, which would be scored. `reference` must pass every test and `stub` must fail
every test; if either does not hold, the harness is wrong and no score can be trusted.
"""

import textwrap
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

from dlbench.dataset.target import fenced
from dlbench.errors import DLBenchError
from dlbench.extraction.syntax import dedent
from dlbench.generation.clients import ModelClient, ModelOptions, add_client

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


class ReferenceModel(Model):
    """`source_of` returns the code of an instance."""

    name = "reference"
    is_free = True

    def __init__(self, source_of: Callable[[str], str]) -> None:
        self._source_of = source_of

    async def answer(self, request: Request) -> Answer:
        return Answer(fenced(dedent(self._source_of(request.instance_id))))


class StubModel(ReferenceModel):
    """`source_of` returns the `def` line or lines of an instance, without decorators."""

    name = "stub"

    async def answer(self, request: Request) -> Answer:
        signature = textwrap.dedent(self._source_of(request.instance_id)).strip().removesuffix(":")
        return Answer(fenced(f"{signature}:\n    raise NotImplementedError"))


def _open_baseline(name: str, options: ModelOptions) -> Model:
    if options.sources is None:
        raise DLBenchError(f"{name} needs the sources of a benchmark", where="--model", fix="choose another model")
    return ReferenceModel(options.sources.reference) if name == "reference" else StubModel(options.sources.signature)


add_client("reference", ModelClient("reference", "the project's own code: must score 100 %", _open_baseline), order=2)
add_client("stub", ModelClient("stub", "a function that raises: must score 0 %", _open_baseline), order=3)
