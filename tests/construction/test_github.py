"""GitHub search handles rate limits, transient errors and malformed answers."""

import json
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlbench.construction.selection.github import TRIES, GitHub, GitHubError, Stopped
from dlbench.errors import DLBenchError

from .fake_github import CUT, LONG_AGO, Hub, answer, refusal, repository

TOKEN = "ghp_secret0123456789"
MANY = [repository(f"us/repo-{n}", 1000 - n) for n in range(250)]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture(scope="module")
def shared() -> Iterator[Hub]:
    with Hub({"jax": MANY}) as hub:
        yield hub


@pytest.fixture
def hub(shared: Hub) -> Hub:
    shared.faults, shared.headers, shared.asked, shared.tokens, shared.questions = [], {}, [], [], []
    return shared


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def github(hub: Hub, waits: list[float]) -> Iterator[GitHub]:
    with GitHub(hub.url, TOKEN, patience=100, sleep=waits.append) as client:
        yield client


def test_page_has_repositories_and_a_more_flag(hub: Hub, github: GitHub) -> None:
    pages = [github.find_page("jax", number) for number in (1, 2, 3)]
    assert [len(page["repositories"]) for page in pages] == [100, 100, 50]
    assert [page["more"] for page in pages] == [True, True, False]
    first = pages[0]["repositories"][0]
    assert (first["name"], first["stars"], first["license"]) == ("us/repo-0", 1000, "MIT")
    assert first["summary"] == "about us/repo-0"


def test_query_is_for_python_repositories_by_stars(hub: Hub, github: GitHub) -> None:
    github.find_page("jax", 2)
    wanted = {"q": "topic:jax language:Python", "sort": "stars", "order": "desc", "per_page": "100", "page": "2"}
    assert hub.questions == [wanted]


def test_total_count_replaces_a_missing_link_header(waits: list[float]) -> None:
    with Hub({"jax": MANY}, links=False) as hub, GitHub(hub.url, sleep=waits.append) as github:
        assert [github.find_page("jax", number)["more"] for number in (1, 2, 3)] == [True, True, False]


def test_rate_limit_wait_uses_githubs_clock(hub: Hub, github: GitHub, waits: list[float]) -> None:
    hub.faults = [refusal(403, X_RateLimit_Remaining="0", X_RateLimit_Reset=str(LONG_AGO + 30))]
    assert github.find_page("jax", 1)["more"]
    assert waits == [31.0]


@pytest.mark.parametrize("status", [403, 429])
def test_retry_after_is_honoured(hub: Hub, github: GitHub, waits: list[float], status: int) -> None:
    hub.faults = [refusal(status, Retry_After="7"), refusal(status, Retry_After="8")]
    assert github.find_page("jax", 1)["more"]
    assert waits == [7.0, 8.0]


@pytest.mark.parametrize("headers", [{}, {"Retry_After": "soon"}, {"X_RateLimit_Reset": "never"}])
def test_rate_limit_without_a_time_waits_a_minute(
    hub: Hub, github: GitHub, waits: list[float], headers: dict[str, str]
) -> None:
    hub.faults = [refusal(403, "You have exceeded a secondary rate limit", **headers)]
    github.find_page("jax", 1)
    assert waits == [60.0]


def test_request_after_the_last_allowed_one_waits_first(hub: Hub, github: GitHub, waits: list[float]) -> None:
    hub.headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(LONG_AGO + 9)}
    github.find_page("jax", 1)
    assert waits == []
    hub.headers = {"X-RateLimit-Remaining": "9"}
    github.find_page("jax", 2)
    assert waits == [10.0]


def test_patience_limits_the_total_wait_for_a_page(hub: Hub, github: GitHub, waits: list[float]) -> None:
    hub.faults = [refusal(429, Retry_After="60")] * 3
    with pytest.raises(Stopped, match="rate limit reached"):
        github.find_page("jax", 1)
    assert waits == [60.0]


def test_patience_restarts_with_every_page(hub: Hub, github: GitHub, waits: list[float]) -> None:
    for number in (1, 2, 3):
        hub.faults = [refusal(429, Retry_After="90")]
        github.find_page("jax", number)
    assert waits == [90.0] * 3


def test_forbidden_request_is_not_retried(hub: Hub, github: GitHub, waits: list[float]) -> None:
    hub.faults = [refusal(403, "Resource not accessible")]
    with pytest.raises(GitHubError, match=r"403.*Resource not accessible"):
        github.find_page("jax", 1)
    assert waits == []


def test_rejected_topic_is_requested_once(hub: Hub, github: GitHub) -> None:
    with pytest.raises(GitHubError, match="422"):
        github.find_page("none-such", 1)
    assert len(hub.asked) == 1


@pytest.mark.parametrize("fault", [refusal(500), refusal(502), CUT, (200, {}, b"<html>"), answer([]), answer({})])
def test_transient_errors_are_retried_with_backoff(
    hub: Hub, github: GitHub, waits: list[float], fault: tuple[int, dict[str, str], bytes]
) -> None:
    hub.faults = [fault] * (TRIES - 1)
    assert len(github.find_page("jax", 3)["repositories"]) == 50
    assert waits == sorted(waits)
    assert len(set(waits)) == TRIES - 1


@pytest.mark.parametrize("fault", [refusal(500), (200, {}, b"\xff\xfe{"), answer({"items": 3})])
def test_page_that_keeps_failing_is_skipped(hub: Hub, github: GitHub, fault: tuple[int, dict[str, str], bytes]) -> None:
    hub.faults = [fault] * TRIES
    with pytest.raises(GitHubError):
        github.find_page("jax", 1)
    assert github.find_page("jax", 2)["more"]


def test_connection_failure_stops_the_search(waits: list[float]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with GitHub(f"http://127.0.0.1:{port}", TOKEN, sleep=waits.append) as github, pytest.raises(Stopped) as caught:
        github.find_page("jax", 1)
    assert str(port) in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_invalid_items_are_skipped_and_incomplete_ones_kept(hub: Hub, github: GitHub) -> None:
    odd = [None, 7, {}, {"full_name": "no-owner"}, {"full_name": "a/b/c"}, {"full_name": ["a/b"]}]
    half = repository("us/half", 3, description="two\u2028lines \ud83d", license=None, stargazers_count="many")
    hub.faults = [answer({"total_count": 7, "items": [*odd, half]})]
    [found] = github.find_page("jax", 1)["repositories"]
    assert (found["name"], found["stars"], found["license"]) == ("us/half", 0, "")
    assert found["summary"] == "two lines ?"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("full_name"), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(json_values, max_size=3), total=json_values, link=st.sampled_from(["", "<x", '<a>; rel="next"']))
def test_any_json_gives_a_page_or_a_known_error(hub: Hub, items: list[object], total: object, link: str) -> None:
    hub.faults = [(200, {"Link": link}, json.dumps({"total_count": total, "items": items}).encode())]
    with GitHub(hub.url, sleep=lambda _: None) as github:
        assert set(github.find_page("jax", 1)) == {"repositories", "more", "partial"}


def test_token_is_sent_only_if_given(hub: Hub, github: GitHub) -> None:
    github.find_page("jax", 1)
    with GitHub(hub.url) as without:
        without.find_page("jax", 1)
    assert hub.tokens == [f"Bearer {TOKEN}", None]


def test_rejected_token_is_not_shown(hub: Hub, github: GitHub) -> None:
    hub.faults = [refusal(401, f"Bad credentials {TOKEN}")]
    with pytest.raises(DLBenchError, match="GITHUB_TOKEN") as caught:
        github.find_page("jax", 1)
    assert TOKEN not in str(caught.value)


def test_token_in_an_answer_is_redacted(hub: Hub, github: GitHub) -> None:
    hub.faults = [refusal(400, f"you sent {TOKEN}")]
    with pytest.raises(GitHubError) as caught:
        github.find_page("jax", 1)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://hub.test", "hub.test", "http://", "https://[", "https://hub.test/?q=1"])
def test_invalid_api_url_is_rejected(url: str) -> None:
    with pytest.raises(DLBenchError, match="not the URL"):
        GitHub(url)


def test_token_is_not_sent_unencrypted() -> None:
    with pytest.raises(DLBenchError, match="unencrypted connection") as caught:
        GitHub("http://hub.test", TOKEN)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "tökén"])
def test_invalid_token_is_rejected_without_being_shown(token: str) -> None:
    with pytest.raises(DLBenchError, match="GITHUB_TOKEN") as caught:
        GitHub("https://hub.test", token)
    assert token not in str(caught.value)
