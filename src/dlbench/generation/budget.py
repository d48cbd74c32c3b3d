"""Price answers, and bound a run in requests, tokens and dollars over all its starts.

The cost of an answer is unknown until it arrives, so a request is sent only while its maximum fits beside the maxima of
the requests in flight. A model that is in no table of prices has an unknown cost, not zero.
"""

import asyncio
import math
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from dlbench.errors import DLBenchError
from dlbench.generation.model import Answer, Message, Request
from dlbench.generation.providers import presets

# Code has about three characters per token; a bound must err on the low side.
CHARACTERS_PER_TOKEN = 3
_OURS = Path(__file__).with_name("prices.toml")
_FORM = 'write ["NAME"], then input = … and output = … in dollars per million tokens'


@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid", strict=True))
class Price:
    """US dollars per million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1_000_000


FREE = Price(0.0, 0.0)


def find_price(model: str, table: Path | None = None) -> Price | None:
    """The price of a model, also without the prefix of the default provider; None if no table has it."""
    prices = _read(_OURS) | (_read(table) if table is not None else {})
    found = prices.get(model) or prices.get(f"openai/{model}")
    is_local = presets().get(model.partition("/")[0], {}).get("local", False)
    return found or (FREE if is_local else None)


def count_tokens(usage: Mapping[str, Any]) -> tuple[float, float] | None:
    """Prompt and completion tokens; None if the endpoint does not report them."""
    match usage:
        case {"prompt_tokens": int() | float() as prompt, "completion_tokens": int() | float() as completion}:
            return prompt, completion
    return None


def _read(path: Path) -> dict[str, Price]:
    where = str(path)
    try:
        prices = {}
        for name, line in tomllib.loads(path.read_text(encoding="utf-8")).items():
            where = f"{path}: {name}"
            prices[name] = Price(**(line if isinstance(line, dict) else {}))
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=where, fix="check --prices") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise DLBenchError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", where=where, fix=_FORM) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DLBenchError(f"not TOML: {error}", where=where, fix=_FORM) from None
    return prices


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
        """The endpoint's own figure comes first: it knows about caches and discounts. NaN or a negative cost is
        ignored: added to a sum, it would disable the limit."""
        reported = usage.get("cost")
        if isinstance(reported, int | float) and not isinstance(reported, bool) and 0 <= reported < math.inf:
            return float(reported)
        counted = count_tokens(usage)
        return None if self._price is None or counted is None else self._price.of(*counted)

    def add(self, answer: Answer, prompt_characters: int) -> None:
        """Count an answer; if the endpoint reports no tokens, estimate them from the characters."""
        counted = count_tokens(answer.usage)
        if counted is None and answer.finish_reason == "context_length":
            return
        characters = len(answer.text) + len(answer.reasoning)
        estimate = prompt_characters / CHARACTERS_PER_TOKEN, characters / CHARACTERS_PER_TOKEN
        prompt, completion = counted or estimate
        self.spent.tokens += prompt + completion
        cost = self.cost_of(answer.usage)
        self.spent.cost += cost if cost is not None else self._price_of(prompt, completion)

    @asynccontextmanager
    async def reserve(self, request: Request) -> AsyncIterator[None]:
        """Reserve the maximum that this request can use while it is in flight."""
        prompt = count_characters(request.messages) / CHARACTERS_PER_TOKEN
        most = Usage(1, prompt + request.max_tokens, self._price_of(prompt, request.max_tokens))
        async with self._changed:
            while (shortage := self._find_shortage(most)) is not None:
                option, used = shortage
                if option == "--max-requests" or not self._in_flight:
                    fix = f"all answers are kept; run the same command with a higher {option} to resume"
                    raise BudgetSpent(f"the budget is exhausted: {used}", where=option, fix=fix)
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

    def _find_shortage(self, most: Usage) -> tuple[str, str] | None:
        """The option whose limit the request may exceed, and what is used of it."""
        limits, spent, reserved = self._limits, self.spent, [*self._in_flight, most]
        if limits.requests is not None and spent.requests + 1 > limits.requests:
            return "--max-requests", f"{spent.requests} of {limits.requests} requests sent"
        if limits.tokens is not None and spent.tokens + sum(one.tokens for one in reserved) > limits.tokens:
            used = f"{spent.tokens:.0f} of {limits.tokens} tokens used"
            return "--max-tokens-total", f"{used}, the next request may use {most.tokens:.0f}"
        if limits.cost is not None and spent.cost + sum(one.cost for one in reserved) > limits.cost:
            used = f"${spent.cost:.4f} of ${limits.cost:.4f} spent"
            return "--max-cost", f"{used}, the next request may cost ${most.cost:.4f}"
        return None


def count_characters(messages: list[Message]) -> int:
    return sum(len(message["content"]) for message in messages)
