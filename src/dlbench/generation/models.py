"""What is a model, to the rest of the system?

Anything with a name that answers requests. It is asked from several threads at once, and it says what went wrong as a
`DLBenchError`: an answer made up in place of an error would be scored as the model's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict, runtime_checkable


class Message(TypedDict):
    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """A model is asked `messages`. Each of `follow_ups` is asked after the answer to what came before it; the last
    answer counts. `notes` go into the sample's record: how the request was made."""

    instance_id: str
    sample: int
    messages: list[Message]
    temperature: float = 0.0
    max_tokens: int = 2048
    seed: int | None = None
    follow_ups: tuple[list[Message], ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """`reasoning` is what the endpoint itself kept apart from the answer."""

    text: str
    usage: dict[str, Any] = field(default_factory=dict)
    finish_reason: str = "stop"
    seconds: float = 0.0
    reasoning: str = ""


class Model(Protocol):
    """Thread-safe: `answer` is called from several threads at once."""

    @property
    def name(self) -> str: ...

    def answer(self, request: Request) -> Answer: ...

    def close(self) -> None: ...


@runtime_checkable
class Stoppable(Protocol):
    """A model that waits between tries; after `stop` it waits no more, and what it has not yet got it gives up."""

    def stop(self) -> None: ...
