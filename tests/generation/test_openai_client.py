"""Failures of an endpoint are reported as what they are, and never become answers."""

import asyncio
import re
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.errors import DLBenchError
from dlbench.generation import Answer, OpenAIModel, RateLimiter, Request
from dlbench.generation.model import TransientError
from dlbench.generation.openai_client import explain_refusal, read_retry_after
from dlbench.generation.retry import Stopped, find_wait

from .endpoint import Cut, Endpoint, Reply, completion, refusal, stream

KEY = "sk-secret-0123456789"
REQUEST = Request("toy/toy.f", 0, [{"role": "user", "content": "hello"}], temperature=0.2, max_tokens=7, seed=5)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DLBENCH_BASE_URL", "DLBENCH_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def ask(model: OpenAIModel, request: Request = REQUEST, retries: int = 0) -> Answer:
    async def ask_once() -> Answer:
        try:
            return await RateLimiter(model, retries=retries).ask(request)
        finally:
            await model.close()

    return asyncio.run(ask_once())


def failure(reply: Reply, retries: int = 0) -> tuple[str, int]:
    """The error message, and the number of requests."""
    with Endpoint(lambda *_: reply) as endpoint:
        with pytest.raises(DLBenchError) as caught:
            ask(OpenAIModel("m", endpoint.url, KEY), retries=retries)
        text = str(caught.value)
        assert KEY not in text
        assert caught.value.fix
        return text, len(endpoint.requests)


def test_request_and_answer_are_complete() -> None:
    with Endpoint(lambda *_: completion("hi", reasoning_content="hm")) as endpoint:
        answer = ask(OpenAIModel("m", endpoint.url, KEY))
    assert (answer.text, answer.reasoning, answer.finish_reason) == ("hi", "hm", "stop")
    assert answer.usage == {"prompt_tokens": 3, "completion_tokens": 2}
    assert answer.seconds > 0
    expected = {"model": "m", "messages": REQUEST.messages, "temperature": 0.2, "max_tokens": 7, "seed": 5}
    assert endpoint.requests == [expected]
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"


def test_key_in_a_header_replaces_the_default_one_and_is_hidden_but_other_values_are_not() -> None:
    headers = {"authorization": "Bearer planted-0123", "Accept": "application/json"}
    with Endpoint(lambda *_: completion("planted-0123 application/json")) as endpoint:
        answer = ask(OpenAIModel("m", endpoint.url, headers=headers))
        ask(OpenAIModel("m", endpoint.url, headers={"api-key": "planted-0123"}))
    assert answer.text == "*** application/json"
    assert endpoint.headers[0]["authorization"] == "Bearer planted-0123"
    assert endpoint.headers[0]["accept"] == "application/json"
    assert "authorization" not in endpoint.headers[1]


def test_default_limit_leaves_room_to_reason() -> None:
    plain, effort = OpenAIModel("m", "http://h/v1"), OpenAIModel("m", "http://h/v1", body={"reasoning_effort": "low"})
    assert plain.max_tokens == 16384
    assert effort.max_tokens == OpenAIModel("m", "http://h/v1", reasoning=True).max_tokens == 32768


def test_no_seed_is_sent_without_one() -> None:
    with Endpoint(lambda *_: completion("hi")) as endpoint:
        ask(OpenAIModel("m", endpoint.url), Request("toy/toy.f", 0, []))
    assert "seed" not in endpoint.requests[0]


@pytest.mark.parametrize("prefix", ["DLBENCH", "OPENAI"])
def test_address_and_key_come_from_the_environment(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    with Endpoint(lambda *_: completion("hi")) as endpoint:
        monkeypatch.setenv(f"{prefix}_BASE_URL", endpoint.url)
        monkeypatch.setenv(f"{prefix}_API_KEY", KEY)
        ask(OpenAIModel("m"))
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"


def test_local_endpoint_needs_no_key_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with Endpoint(lambda *_: completion("hi")) as endpoint:
        assert ask(OpenAIModel("m", endpoint.url)).text == "hi"
    assert endpoint.headers[0]["authorization"] == "Bearer none"


def test_remote_endpoint_uses_the_proxy_and_ignores_netrc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password something\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with Endpoint(lambda *_: completion("hi")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        assert ask(OpenAIModel("m", "http://models.invalid/v1", KEY)).text == "hi"
        assert proxy.headers[0]["host"] == "models.invalid"
        assert proxy.headers[0]["authorization"] == f"Bearer {KEY}"
        monkeypatch.setenv("no_proxy", "models.invalid")
        with pytest.raises(DLBenchError, match="the connection failed"):
            ask(OpenAIModel("m", "http://models.invalid/v1", KEY))


@pytest.mark.parametrize(
    ("arguments", "message"), [((), "no API key.*\n.*DLBENCH_API_KEY"), (("localhost:8000/v1",), "not an HTTP")]
)
def test_missing_key_and_invalid_address_are_refused_at_once(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(DLBenchError) as caught:
        OpenAIModel("m", *arguments)
    assert re.search(message, str(caught.value))


@pytest.mark.parametrize("host", ["a..b", "exa mple", "127.0.0.1:99999", "x:port", "%zz", "[::1]:9", "\u2028", "a@b@c"])
def test_unusable_host_is_an_error(host: str) -> None:
    with pytest.raises(DLBenchError):
        ask(OpenAIModel("m", f"http://{host}/v1"))


@pytest.mark.parametrize(
    ("reply", "messages"),
    [
        (refusal(401, f"Incorrect API key provided: {KEY}."), ["refused the API key", "DLBENCH_API_KEY"]),
        (refusal(403, f"Incorrect API key provided: {KEY}."), ["refused the API key", "DLBENCH_API_KEY"]),
        (refusal(404, "The model `m` does not exist"), ["does not know the model", "does not exist"]),
        (refusal(429, "You exceeded your quota", "insufficient_quota"), ["quota"]),
        (refusal(400, "temperature must be 1"), ["temperature must be 1"]),
    ],
    ids=["401", "403", "404", "quota", "400"],
)
def test_permanent_refusal_is_not_retried_and_shows_no_key(reply: Reply, messages: list[str]) -> None:
    text, requests = failure(reply, retries=5)
    assert all(message in text for message in messages)
    assert requests == 1


@pytest.mark.parametrize("format", ["seconds", "date"])
def test_busy_endpoint_is_retried_after_the_requested_time(format: str) -> None:
    after = "1" if format == "seconds" else formatdate(time.time() + 2, usegmt=True)
    with Endpoint(lambda n, _: completion("hi") if n else refusal(429, "slow down", retry_after=after)) as endpoint:
        assert ask(OpenAIModel("m", endpoint.url, KEY), retries=1).text == "hi"
    first, second = endpoint.times
    assert 0.9 <= second - first < 10


def test_too_long_wait_ends_the_run() -> None:
    start = time.monotonic()
    text, requests = failure(refusal(429, "come back tomorrow", retry_after="86400"), retries=5)
    assert "to resume" in text
    assert "asked to retry after 86400 s, above the limit of 120 s" in text
    assert requests == 1
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("after", [None, 0.2, 1.0])
def test_waits_grow_whatever_the_endpoint_asks(after: float | None) -> None:
    """Sixteen requests with `Retry-After: 1` would otherwise be refused six times within six seconds."""
    waits = [find_wait(after, attempt) for attempt in range(1, 7)]
    for wait, backoff in zip(waits, (1, 2, 4, 8, 16, 30), strict=True):
        assert max(after or 0, 0.75 * backoff) <= wait <= max(after or 0, 0.75 * backoff) + 0.25 * backoff


def test_waits_respect_the_endpoint_and_are_jittered() -> None:
    waits = {find_wait(60.0, 1) for _ in range(20)}
    assert min(waits) >= 60
    assert len(waits) > 1


@pytest.mark.parametrize("value", ["0", "-3", "Mon, 01 Jan 2024 00:00:00 GMT"])
def test_retry_after_zero_still_backs_off(value: str) -> None:
    problem = explain_refusal(429, value, "slow down", "slow down", "here")
    assert isinstance(problem, TransientError)
    assert find_wait(problem.after, 1) >= 0.75


def test_permanent_failure_ends_the_run() -> None:
    text, requests = failure(refusal(500, "oops"), retries=1)
    assert "HTTP 500" in text
    assert "finished work is kept" in text
    assert requests == 2


def test_unreachable_endpoint_is_an_error() -> None:
    with Endpoint(lambda *_: completion("hi")) as endpoint:
        pass
    with pytest.raises(DLBenchError, match="the connection failed") as caught:
        ask(OpenAIModel("m", endpoint.url, KEY), retries=1)
    assert "finished work is kept" in str(caught.value)


def test_hanging_endpoint_times_out() -> None:
    done = threading.Event()

    def hang(*_: object) -> Reply:
        done.wait(10)
        return completion("late")

    with Endpoint(hang) as endpoint:
        with pytest.raises(DLBenchError, match=r"no answer within 0\.3 s"):
            ask(OpenAIModel("m", endpoint.url, KEY, timeout=0.3))
        done.set()


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ((200, {"Content-Type": "text/html"}, "<html>Welcome to the router</html>"), "Welcome to the router"),
        ((200, {"Content-Type": "application/json"}, '{"status": "ok"}'), '"status": "ok"'),
        ((200, {"Content-Type": "application/json"}, '{"choices": []}'), "choices"),
        ((200, {"Content-Type": "application/json"}, "[1, 2]"), "[1, 2]"),
        ((200, {"Content-Type": "application/json"}, ""), "an empty body"),
    ],
    ids=["html", "no choices", "empty choices", "list", "empty"],
)
def test_invalid_reply_is_not_an_answer(reply: Reply, shown: str) -> None:
    text, _ = failure(reply)
    assert "not a chat completion" in text
    assert shown in text


def test_empty_answer_is_retried_and_accepted_only_if_it_persists() -> None:
    """A busy endpoint is empty once; a model that always returns nothing must not end every start of the run."""
    with Endpoint(lambda number, body: completion(None)) as endpoint:
        answer = ask(OpenAIModel("m", endpoint.url, KEY), retries=1)
        assert len(endpoint.requests) == 2
    assert (answer.text, answer.finish_reason, answer.usage["completion_tokens"]) == ("", "stop", 2)
    with Endpoint(lambda number, body: completion("def f(): pass" if endpoint.requests[1:] else None)) as endpoint:
        assert ask(OpenAIModel("m", endpoint.url, KEY), retries=1).text == "def f(): pass"
    empty = completion(None)
    uncounted = (*empty[:2], str(empty[2]).replace('"completion_tokens": 2', '"completion_tokens": 0'))
    text, requests = failure(uncounted, retries=1)
    assert "no text" in text
    assert requests == 2


def test_reasoning_without_text_is_an_empty_answer() -> None:
    """The model reasoned until its limit, which is its own failure."""
    with Endpoint(lambda *_: completion(None, reasoning_content="hm")) as endpoint:
        answer = ask(OpenAIModel("m", endpoint.url, KEY))
    assert (answer.text, answer.reasoning) == ("", "hm")


def test_content_filter_is_an_empty_answer() -> None:
    """A filtered prompt costs one instance and does not end the run."""
    message = "The response was filtered due to the prompt triggering the content management policy."
    with Endpoint(lambda *_: refusal(400, message, "content_filter")) as endpoint:
        answer = ask(OpenAIModel("m", endpoint.url, KEY))
        assert len(endpoint.requests) == 1
    assert (answer.text, answer.finish_reason) == ("", "content_filter")


def context_of(tokens: int, prompt: int) -> Callable[[int, dict[str, Any]], Reply]:
    """An endpoint with a context of so many tokens, and vLLM's error message."""

    def reply(_: int, body: dict[str, Any]) -> Reply:
        limit = body["max_tokens"]
        if prompt + limit <= tokens:
            return completion("hi")
        message = (
            f"This model's maximum context length is {tokens} tokens. However, you requested {prompt + limit} tokens "
            f"({prompt} in the messages, {limit} in the completion). {KEY}"
        )
        return refusal(400, message, "context_length_exceeded")

    return reply


@pytest.mark.parametrize(
    ("prompt", "text", "reason", "limits"), [(10, "", "context_length", [7, 1]), (3, "hi", "stop", [7])]
)
def test_only_a_too_long_prompt_is_an_empty_answer(prompt: int, text: str, reason: str, limits: list[int]) -> None:
    with Endpoint(context_of(10, prompt)) as endpoint:
        answer = ask(OpenAIModel("m", endpoint.url, KEY))
    assert (answer.text, answer.finish_reason) == (text, reason)
    assert [body["max_tokens"] for body in endpoint.requests] == limits


def test_too_large_max_tokens_is_an_error() -> None:
    with Endpoint(context_of(10, prompt=9)) as endpoint, pytest.raises(DLBenchError) as caught:
        ask(OpenAIModel("m", endpoint.url, KEY))
    assert "you requested 16 tokens" in caught.value.what
    assert "the prompt alone fits" in caught.value.what
    assert KEY not in str(caught.value)
    assert REQUEST.instance_id in caught.value.where
    assert "lower --max-tokens" in caught.value.fix
    assert "new --out" in caught.value.fix


def test_probe_of_the_prompt_length_is_retried() -> None:
    """A lost probe must not blame the settings or the model."""
    refuse = context_of(10, prompt=10)
    busy = refusal(503, "busy")
    with Endpoint(lambda number, body: busy if number == 1 else refuse(number, body)) as endpoint:
        assert ask(OpenAIModel("m", endpoint.url, KEY), retries=1).finish_reason == "context_length"
    assert [body["max_tokens"] for body in endpoint.requests] == [7, 1, 1]


def test_failed_probe_reports_both_refusals() -> None:
    least = refusal(400, "max_tokens must be at least 16")
    refuse = context_of(10, prompt=10)

    def reply(number: int, body: dict[str, Any]) -> Reply:
        return least if number else refuse(number, body)

    with Endpoint(reply) as endpoint, pytest.raises(DLBenchError) as caught:
        ask(OpenAIModel("m", endpoint.url, KEY))
    assert "maximum context length is 10 tokens" in caught.value.what
    assert "must be at least 16" in caught.value.what
    assert "is unknown" in caught.value.what


def test_other_name_of_the_limit_is_learned_once() -> None:
    """By the first request, or by several concurrent ones."""

    def reply(_: int, body: dict[str, object]) -> Reply:
        if "max_tokens" in body:
            return refusal(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return completion("hi")

    async def ask_many(model: OpenAIModel, count: int) -> list[Answer]:
        limiter = RateLimiter(model, concurrency=8)
        try:
            return await asyncio.gather(*(limiter.ask(REQUEST) for _ in range(count)))
        finally:
            await model.close()

    with Endpoint(reply) as endpoint:
        model = OpenAIModel("m", endpoint.url, KEY)
        assert [ask(model, retries=1).text for _ in range(2)] == ["hi", "hi"]
        assert len(endpoint.requests) == 3
        assert len(asyncio.run(ask_many(OpenAIModel("m", endpoint.url, KEY), 8))) == 8


def test_password_in_the_address_is_not_shown() -> None:
    with Endpoint(lambda *_: refusal(404, "no")) as endpoint:
        url = endpoint.url.replace("http://", f"http://user:{KEY}@") + f"?key={KEY}"
        with pytest.raises(DLBenchError) as caught:
            ask(OpenAIModel("m", url))
    assert KEY not in str(caught.value)


def test_stop_ends_a_wait() -> None:
    """Ctrl-C must not wait for a back-off."""

    async def stop_soon(url: str) -> None:
        model = OpenAIModel("m", url, KEY)
        limiter = RateLimiter(model)
        asyncio.get_running_loop().call_later(0.5, limiter.stop)
        try:
            with pytest.raises(Stopped):
                await limiter.ask(REQUEST)
        finally:
            await model.close()

    start = time.monotonic()
    with Endpoint(lambda *_: refusal(429, "slow down", retry_after="60")) as endpoint:
        asyncio.run(stop_soon(endpoint.url))
    assert time.monotonic() - start < 10


def test_reasoning_omits_the_temperature() -> None:
    with Endpoint(lambda *_: completion("hi")) as endpoint:
        ask(OpenAIModel("m", endpoint.url, KEY, reasoning=True))
    assert endpoint.requests == [{"model": "m", "messages": REQUEST.messages, "max_completion_tokens": 7, "seed": 5}]


def test_stream_is_requested_with_usage() -> None:
    with Endpoint(lambda *_: stream("def f()", ": pass", reasoning="hm")) as endpoint:
        answer = ask(OpenAIModel("m", endpoint.url, KEY, stream=True))
    assert (answer.text, answer.reasoning, answer.finish_reason) == ("def f(): pass", "hm", "stop")
    assert answer.usage == {"prompt_tokens": 3, "completion_tokens": 2}
    assert endpoint.requests[0]["stream"] is True
    assert endpoint.requests[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    "cut",
    [stream("def f(", done=False), (200, {"Content-Type": "application/json"}, Cut(completion("def f(): pass")[2]))],
    ids=["stream", "body"],
)
def test_truncated_reply_is_retried(cut: Reply) -> None:
    with Endpoint(lambda n, _: completion("whole") if n else cut) as endpoint:
        assert ask(OpenAIModel("m", endpoint.url, KEY), retries=1).text == "whole"
        assert len(endpoint.requests) == 2


def test_key_in_an_answer_is_hidden() -> None:
    with Endpoint(lambda *_: completion(f"your key is {KEY}", reasoning=KEY)) as endpoint:
        answer = ask(OpenAIModel("m", endpoint.url, KEY))
    assert (answer.text, answer.reasoning) == ("your key is ***", "***")


def test_redirects_are_not_followed() -> None:
    with Endpoint(lambda *_: completion("hi")) as other:
        text, _ = failure((307, {"Location": f"{other.url}/chat/completions"}, ""))
        assert other.requests == []
    assert "redirects elsewhere" in text


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3), ("0.5", 0.5), ("-1", 0), ("Mon, 01 Jan 2024 00:00:00 GMT", 0)]
    + [(value, None) for value in (None, "", "soon", "nan", "inf", "32 Jan", "Mon, 01 Jan 99999 00:00:00 GMT")],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value) == seconds
    assert 50 < (read_retry_after(formatdate(time.time() + 60, usegmt=True)) or 0) <= 60


@given(st.text())
def test_arbitrary_retry_after_is_no_error(value: str) -> None:
    seconds = read_retry_after(value)
    assert seconds is None or seconds >= 0
