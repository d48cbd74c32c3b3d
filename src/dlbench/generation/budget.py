"""Bound a run in requests, tokens and dollars, over all its starts.

What earlier starts used is read from the run's folder. The cost of an answer is unknown until it arrives, so a request
is sent only while its maximum fits beside the maxima of the requests in flight. When nothing fits, the run ends and
keeps everything.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.generation.model import Answer, Message, Request
from dlbench.generation.prices import Price, count_tokens, read_cost

# Code has about three characters per token; a bound must err on the low side.
_CHARACTERS_PER_TOKEN = 3


@dataclass(frozen=True)
class Limits:
    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None


@dataclass
class Usage:
    requests: int = 0
    tokens: float = 0
    cost: float = 0.0


class BudgetSpent(DLBenchError):
    """The budget allows no further request; all answers are kept."""


class Budget:
    """Used in one event loop."""

    def __init__(self, limits: Limits | None = None, price: Price | None = None, model: str = "") -> None:
        self._limits = limits or Limits()
        self._price = price
        self.spent = Usage()
        self._in_flight: list[Usage] = []
        self._changed = asyncio.Condition()
        if self._limits.cost is not None and price is None:
            fix = f'pass --prices FILE with ["{model}"], input = … and output = … in dollars per million tokens'
            raise DLBenchError("--max-cost requires a price, and this model has none", where=f"model {model}", fix=fix)

    def cost_of(self, usage: Mapping[str, Any]) -> float | None:
        return read_cost(usage, self._price)

    def add(self, answer: Answer, prompt_characters: int) -> None:
        """Count an answer; if the endpoint reports no tokens, estimate them from the characters."""
        counted = count_tokens(answer.usage)
        if counted is None and answer.finish_reason == "context_length":
            return
        characters = len(answer.text) + len(answer.reasoning)
        estimate = prompt_characters / _CHARACTERS_PER_TOKEN, characters / _CHARACTERS_PER_TOKEN
        prompt, completion = counted or estimate
        self.spent.tokens += prompt + completion
        cost = self.cost_of(answer.usage)
        self.spent.cost += cost if cost is not None else self._price_of(prompt, completion)

    @asynccontextmanager
    async def reserve(self, request: Request) -> AsyncIterator[None]:
        """Reserve the maximum that this request can use while it is in flight."""
        prompt = count_characters(request.messages) / _CHARACTERS_PER_TOKEN
        most = Usage(1, prompt + request.max_tokens, self._price_of(prompt, request.max_tokens))
        async with self._changed:
            while (short := self._shortage(most)) is not None:
                if short == "requests" or not self._in_flight:
                    raise self._exhausted(short, most)
                await self._changed.wait()
            self.spent.requests += 1
            self._in_flight.append(most)
        try:
            yield
        finally:
            async with self._changed:
                self._in_flight.remove(most)
                self._changed.notify_all()

    def _price_of(self, prompt: float, completion: float) -> float:
        return self._price.of(prompt, completion) if self._price else 0.0

    def _shortage(self, most: Usage) -> str | None:
        limits, spent = self._limits, self.spent
        if limits.requests is not None and spent.requests + 1 > limits.requests:
            return "requests"
        reserved = [*self._in_flight, most]
        if limits.tokens is not None and spent.tokens + sum(one.tokens for one in reserved) > limits.tokens:
            return "tokens"
        if limits.cost is not None and spent.cost + sum(one.cost for one in reserved) > limits.cost:
            return "cost"
        return None

    def _exhausted(self, short: str, most: Usage) -> BudgetSpent:
        limits, spent = self._limits, self.spent
        tokens = f"{spent.tokens:.0f} of {limits.tokens} tokens used"
        cost = f"${spent.cost:.4f} of ${limits.cost or 0:.4f} spent"
        option, used = {
            "requests": ("--max-requests", f"{spent.requests} of {limits.requests} requests sent"),
            "tokens": ("--max-tokens-total", f"{tokens}, the next request may use {most.tokens:.0f}"),
            "cost": ("--max-cost", f"{cost}, the next request may cost ${most.cost:.4f}"),
        }[short]
        fix = f"all answers are kept; run the same command with a higher {option} to resume"
        return BudgetSpent(f"the budget is exhausted: {used}", where=option, fix=fix)


def count_characters(messages: list[Message]) -> int:
    return sum(len(message["content"]) for message in messages)
