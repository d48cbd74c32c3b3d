"""What do the best and the worst answer score?

`reference` answers with the project's own code and must pass everything; `stub` answers with a function that does
nothing and must pass nothing. Where either does not hold, the harness is wrong and no other score can be trusted.
"""

import textwrap
from collections.abc import Callable

from dlbench.dataset.prompt_context import fenced
from dlbench.extraction.syntax import dedent
from dlbench.generation.models import Answer, Model, Request


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
