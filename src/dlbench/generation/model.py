"""What is a model, to the rest of the system?

Anything with a name that answers requests. It makes one try, and it says what went wrong as a `DLBenchError`: an answer
made up in place of an error would be scored as the model's own. What may be gone at the next try is `Passing`.

What do the best and the worst answer score?

`reference` answers with the project's own code and must pass everything; `stub` answers with a function that does
nothing and must pass nothing. Where either does not hold, the harness is wrong and no other score can be trusted.
"""

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

from dlbench.dataset.prompt_context import fenced
from dlbench.errors import DLBenchError
from dlbench.extraction.syntax import dedent

# What OpenAI, Anthropic, Mistral and OpenAI's newer interface call an answer that reached the limit on its length.
GOES_ON = "what was done is kept; start the same command again and it goes on from there"


class Message(TypedDict):
    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """A model is asked `messages`. Each of `follow_ups` is asked after the answer to what came before it; the last
    answer counts. `turn` counts those before. `notes` go into the sample's record: how the request was made."""

    instance_id: str
    sample: int
    messages: list[Message]
    temperature: float = 0.0
    max_tokens: int = 2048
    seed: int | None = None
    follow_ups: tuple[list[Message], ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    turn: int = 0


@dataclass(frozen=True)
class Answer:
    """`reasoning` is what the endpoint itself kept apart from the answer. `refusal` is what it said in its stead:
    that prompt and longest answer do not fit into the model's context together."""

    text: str
    usage: dict[str, Any] = field(default_factory=dict)
    finish_reason: str = "stop"
    seconds: float = 0.0
    reasoning: str = ""
    refusal: str = ""


class TransientError(DLBenchError):
    """Trouble that another try may not meet; `after` is how many seconds the endpoint wants to be left alone, and 0
    where the next try needs no wait. `settles`: the answer that it is where every try meets it."""

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        fix: str = "",
        after: float | None = None,
        settles: "Answer | None" = None,
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.after = after
        self.settles = settles


class Model(Protocol):
    """Asked many requests at once, all in one event loop."""

    @property
    def name(self) -> str: ...

    async def answer(self, request: Request) -> Answer: ...

    def form(self, request: Request) -> dict[str, Any]:
        """Exactly what is sent, for the record: never with a key in it."""
        return {"model": self.name, "messages": request.messages}

    async def close(self) -> None:
        """Lets go of what is held, in the loop that it was taken in."""
        return


class ReferenceModel(Model):
    name = "reference"

    def __init__(self, reference_of: Callable[[str], str]) -> None:
        self._reference_of = reference_of

    async def answer(self, request: Request) -> Answer:
        return Answer(fenced(dedent(self._reference_of(request.instance_id))))


class StubModel(Model):
    """`signature_of` gives the `def` line or lines of an instance, without decorators."""

    name = "stub"

    def __init__(self, signature_of: Callable[[str], str]) -> None:
        self._signature_of = signature_of

    async def answer(self, request: Request) -> Answer:
        signature = textwrap.dedent(self._signature_of(request.instance_id)).strip()
        if not signature.endswith(":"):
            signature += ":"
        return Answer(fenced(f"{signature}\n    raise NotImplementedError"))
