"""May this request still be sent?

A run may be bounded in requests, tokens and money, over all its starts: what earlier ones used is read from the run's
folder. A request is sent only while the most that it can take still fits beside what those under way can take; so the
bound holds although nobody knows what an answer takes before it is there. When nothing fits any more the run ends, with
everything kept.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.generation.model import Answer, Message, Request
from dlbench.generation.prices import Price, count_tokens, read_cost

# Code has about three characters a token, and a bound must rather be kept too early than too late.
_CHARACTERS = 3


@dataclass(frozen=True)
class Limits:
    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None


@dataclass
class Spent:
    requests: int = 0
    tokens: float = 0
    cost: float = 0.0


class BudgetSpent(DLBenchError):
    """Nothing more may be asked; what was answered is kept."""


class Budget:
    """Used in one event loop."""

    def __init__(self, limits: Limits | None = None, price: Price | None = None, model: str = "") -> None:
        self._limits = limits or Limits()
        self._price = price
        self.spent = Spent()
        self._under_way: list[Spent] = []
        self._changed = asyncio.Condition()
        if self._limits.cost is not None and price is None:
            raise DLBenchError(
                "no price is known, so --max-cost cannot be kept",
                where=f"model {model}",
                fix=f'give --prices FILE with ["{model}"], input = … and output = … in dollars for a million tokens',
            )

    def cost_of(self, usage: Mapping[str, Any]) -> float | None:
        return read_cost(usage, self._price)

    def add(self, answer: Answer, asked: int) -> None:
        """Counts an answer; where the endpoint does not say how many tokens it took, by the characters of what was
        `asked` and answered."""
        counted = count_tokens(answer.usage)
        if counted is None and answer.finish_reason == "context_length":
            return
        said = len(answer.text) + len(answer.reasoning)
        prompt, completion = counted or (asked / _CHARACTERS, said / _CHARACTERS)
        self.spent.tokens += prompt + completion
        cost = self.cost_of(answer.usage)
        self.spent.cost += cost if cost is not None else self._price_of(prompt, completion)

    @asynccontextmanager
    async def room(self, request: Request) -> AsyncIterator[None]:
        """While inside, the most that this request can take is set aside."""
        prompt = count_characters(request.messages) / _CHARACTERS
        most = Spent(1, prompt + request.max_tokens, self._price_of(prompt, request.max_tokens))
        async with self._changed:
            while (short := self._shortage(most)) is not None:
                if short == "requests" or not self._under_way:
                    raise self._used_up(short, most)
                await self._changed.wait()
            self.spent.requests += 1
            self._under_way.append(most)
        try:
            yield
        finally:
            async with self._changed:
                self._under_way.remove(most)
                self._changed.notify_all()

    def _price_of(self, prompt: float, completion: float) -> float:
        return self._price.of(prompt, completion) if self._price else 0.0

    def _shortage(self, most: Spent) -> str | None:
        limits, spent = self._limits, self.spent
        if limits.requests is not None and spent.requests + 1 > limits.requests:
            return "requests"
        set_aside = [*self._under_way, most]
        if limits.tokens is not None and spent.tokens + sum(one.tokens for one in set_aside) > limits.tokens:
            return "tokens"
        if limits.cost is not None and spent.cost + sum(one.cost for one in set_aside) > limits.cost:
            return "cost"
        return None

    def _used_up(self, short: str, most: Spent) -> BudgetSpent:
        limits, spent = self._limits, self.spent
        tokens = f"{spent.tokens:.0f} of {limits.tokens} tokens were used"
        cost = f"${spent.cost:.4f} of ${limits.cost or 0:.4f} was spent"
        option, used = {
            "requests": ("--max-requests", f"{spent.requests} of {limits.requests} requests were sent"),
            "tokens": ("--max-tokens-total", f"{tokens}, and the next request may take {most.tokens:.0f}"),
            "cost": ("--max-cost", f"{cost}, and the next request may cost ${most.cost:.4f}"),
        }[short]
        return BudgetSpent(
            f"the budget is used up: {used}",
            where=option,
            fix=f"every answer is kept; start the same command with a higher {option} and it goes on from there",
        )


def count_characters(messages: list[Message]) -> int:
    return sum(len(message["content"]) for message in messages)
