"""Budgets hold across kills and with many requests in flight, and keep all answers."""

import asyncio
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.errors import DLBenchError
from dlbench.generation import Answer, Budget, Limits, Model, OpenAIModel, Request, generate
from dlbench.generation.budget import BudgetSpent, Price
from dlbench.generation.model import TransientError
from dlbench.generation.retry import RateLimiter
from dlbench.runs import REQUESTS

from .endpoint import Endpoint, Reply, completion, refusal
from .test_conversation import RIVERS, Planner
from .test_conversation import request_of as planned
from .test_sampling import INSTANCES, REQUESTED, Scripted, keys, lines, request_of

PRICE = Price(input=10.0, output=100.0)


class Counting(Model):
    """Answers after a moment, with a fixed usage."""

    name = "counting"

    def __init__(self, prompt: int = 10, completion: int = 5) -> None:
        self.usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        self.answered = 0

    async def answer(self, request: Request) -> Answer:
        await asyncio.sleep(random.uniform(0, 0.01))
        self.answered += 1
        return Answer("x", dict(self.usage))


def start(model: Model, path: Path, limits: Limits, price: Price | None = PRICE, concurrency: int = 3) -> None:
    generate(model, INSTANCES, request_of, path, 2, concurrency, lambda _: None, budget=Budget(limits, price))


def test_requests_are_counted_over_all_starts(path: Path) -> None:
    for done in (4, 4, 4):
        model = Counting()
        with pytest.raises(BudgetSpent, match="4 of 4 requests") as caught:
            start(model, path, Limits(requests=4))
        assert len(lines(path)) == done
    assert model.answered == 0
    assert "higher --max-requests" in caught.value.fix
    start(Counting(), path, Limits(requests=6))
    assert keys(path) == REQUESTED


def test_failed_attempts_count_as_requests(tmp_path: Path) -> None:
    class Failing(Scripted):
        async def answer(self, request: Request) -> Answer:
            await super().answer(request)
            raise TransientError("busy", after=0)

    model = Failing()
    with pytest.raises(BudgetSpent):
        start(model, tmp_path / "samples.jsonl", Limits(requests=3), concurrency=1)
    assert len(model.received) == 3
    assert [record["attempt"] for record in lines(tmp_path / REQUESTS)] == [0, 1, 2]


def test_probe_of_the_prompt_length_counts_as_a_request(path: Path) -> None:
    """It is counted and logged; without budget for it the prompt is not called too long."""
    full = refusal(400, "This model's maximum context length is 8192 tokens", "context_length_exceeded")
    with Endpoint(lambda *_: full) as endpoint, pytest.raises(BudgetSpent, match="3 of 3 requests"):
        start(OpenAIModel("m", endpoint.url), path, Limits(requests=3), concurrency=1)
    assert [record["finish_reason"] for record in lines(path)] == ["context_length"]
    sent = [record["request"]["body"] for record in lines(path.with_name(REQUESTS))]
    assert sent == endpoint.requests
    assert [body["max_tokens"] for body in sent] == [2048, 1, 2048]


def test_too_large_max_tokens_ends_the_run_and_keeps_answers(path: Path) -> None:
    full = refusal(400, "This model's maximum context length is 8192 tokens", "context_length_exceeded")

    def reply(number: int, body: dict[str, object]) -> Reply:
        return full if number and body["max_tokens"] != 1 else completion("def f(): pass")

    with Endpoint(reply) as endpoint, pytest.raises(DLBenchError, match="the prompt alone fits"):
        start(OpenAIModel("m", endpoint.url), path, Limits(), concurrency=1)
    assert [record["answer"] for record in lines(path)] == ["def f(): pass"]


@given(
    limit=st.integers(1, 30_000),
    prompt=st.integers(0, 6),
    used=st.integers(0, 2048),
    concurrency=st.integers(1, 8),
    by=st.sampled_from(["tokens", "cost"]),
)
@settings(max_examples=30)
def test_tokens_and_cost_never_exceed_the_limit(limit: int, prompt: int, used: int, concurrency: int, by: str) -> None:
    """Whatever each answer uses up to its own limit, and however many are in flight."""
    bound = Limits(tokens=limit) if by == "tokens" else Limits(cost=limit / 1e5)
    budget = Budget(bound, PRICE)
    model = Counting(prompt, used)

    async def ask_on(limiter: RateLimiter) -> None:
        request = Request("a/b", 0, [{"role": "user", "content": "x" * 20}])
        for _ in range(10):
            await limiter.ask(request)

    async def ask_all() -> list[BaseException | None]:
        limiter = RateLimiter(model, budget=budget, concurrency=concurrency)
        return await asyncio.gather(*(ask_on(limiter) for _ in range(concurrency)), return_exceptions=True)

    ended = asyncio.run(ask_all())
    assert all(one is None or isinstance(one, BudgetSpent) for one in ended)
    assert budget.spent.tokens == model.answered * (prompt + used)
    assert budget.spent.cost == pytest.approx(model.answered * (prompt * 10 + used * 100) / 1e6)
    assert budget.spent.tokens <= limit if by == "tokens" else budget.spent.cost <= limit / 1e5
    if any(ended):
        room = 7 + 2048 if by == "tokens" else (7 * 10 + 2048 * 100) / 1e6
        left = limit - budget.spent.tokens if by == "tokens" else limit / 1e5 - budget.spent.cost
        assert left < room


def test_tokens_are_counted_over_all_starts(path: Path) -> None:
    # a request may use 3 + 2048 tokens and uses 1015
    with pytest.raises(BudgetSpent, match="tokens used") as caught:
        start(Counting(1000, 15), path, Limits(tokens=4500))
    assert "--max-tokens-total" in caught.value.fix
    kept = len(lines(path))
    assert kept == 3
    again = Counting(1000, 15)
    with pytest.raises(BudgetSpent):
        start(again, path, Limits(tokens=4500))
    assert again.answered == 0
    start(Counting(1000, 15), path, Limits(tokens=10_000))
    assert keys(path) == REQUESTED


def test_turns_are_counted_once(path: Path) -> None:
    for limit, requests in ((1, 1), (3, 2), (4, 1)):
        model = Planner()
        try:
            generate(
                model, RIVERS, planned, path, 1, 1, lambda _: None, budget=Budget(Limits(requests=limit, tokens=10**6))
            )
        except BudgetSpent:
            assert limit < 4
        assert len(model.requests) == requests
    budget = Budget()
    generate(Planner(), RIVERS, planned, path, 1, 1, lambda _: None, budget=budget)
    assert budget.spent.requests == 4


def test_samples_record_their_cost(path: Path, tmp_path: Path) -> None:
    start(Counting(10, 5), path, Limits(cost=100.0))
    assert [record["cost"] for record in lines(path)] == [pytest.approx(600 / 1e6)] * 6
    other = tmp_path / "other" / "samples.jsonl"
    start(Counting(10, 5), other, Limits(), price=None)
    assert "cost" not in lines(other)[0]


def test_cost_reported_by_the_endpoint_comes_first() -> None:
    assert Budget(price=PRICE).cost_of({"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25}) == 0.25


def test_answer_without_usage_is_counted_by_characters(path: Path) -> None:
    """Otherwise an endpoint that reports nothing would have no limit."""
    scripted = Scripted(lambda _: "x" * 3000)
    with pytest.raises(BudgetSpent):
        start(scripted, path, Limits(tokens=4000), concurrency=1)
    assert len(scripted.received) == 2
    again = Scripted()
    with pytest.raises(BudgetSpent):
        start(again, path, Limits(tokens=4000), concurrency=1)
    assert again.received == []


def test_max_cost_requires_a_price() -> None:
    with pytest.raises(DLBenchError, match="--max-cost requires a price") as caught:
        Budget(Limits(cost=1.0), None, "my/model")
    assert '["my/model"]' in caught.value.fix
    assert "--prices" in caught.value.fix


def test_request_is_logged_exactly_and_without_the_key(tmp_path: Path) -> None:
    with Endpoint(lambda *_: completion("hi")) as endpoint:
        url = endpoint.url.replace("http://", "http://user:sk-password@") + "?token=sk-in-the-query"
        model = OpenAIModel("m", url, "sk-very-secret")
        generate(model, INSTANCES[:1], request_of, tmp_path / "samples.jsonl", 2, 1, lambda _: None)
    records = lines(tmp_path / REQUESTS)
    assert [record["request"]["body"] for record in records] == endpoint.requests
    assert [record["request"]["body"]["seed"] for record in records] == [0, 1]
    assert "sk-" not in json.dumps(records)
    assert endpoint.headers[0]["authorization"] == "Bearer sk-very-secret"


def test_empty_attempts_with_counted_tokens_use_the_budget() -> None:
    budget = Budget(Limits(tokens=100), PRICE)

    async def ask_once(url: str) -> Answer:
        model = OpenAIModel("m", url, "a-key-of-mine")
        try:
            return await RateLimiter(model, budget=budget, retries=2).ask(Request("a/b", 0, [], max_tokens=5))
        finally:
            await model.close()

    with Endpoint(lambda number, body: completion("def f(): pass" if number == 2 else None)) as endpoint:
        assert asyncio.run(ask_once(endpoint.url)).text == "def f(): pass"
    assert budget.spent.tokens == 3 * (3 + 2)
    assert budget.spent.cost == pytest.approx(3 * PRICE.of(3, 2))
