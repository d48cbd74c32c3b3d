"""What GitHub's search says is had whole, however it limits, breaks and babbles."""

import json
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlbench.construction.selection.github import TRIES, GitHub, GitHubError, Page, Stopped
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


def test_a_page_has_its_repositories_and_says_whether_there_are_more(hub: Hub, github: GitHub) -> None:
    pages = [github.find_page("jax", number) for number in (1, 2, 3)]
    assert [len(page.repositories) for page in pages] == [100, 100, 50]
    assert [page.more for page in pages] == [True, True, False]
    first = pages[0].repositories[0]
    assert (first.name, first.stars, first.license) == ("us/repo-0", 1000, "MIT")
    assert first.summary == "about us/repo-0"


def test_python_repositories_are_asked_for_with_the_most_starred_first(hub: Hub, github: GitHub) -> None:
    github.find_page("jax", 2)
    wanted = {"q": "topic:jax language:Python", "sort": "stars", "order": "desc", "per_page": "100", "page": "2"}
    assert hub.questions == [wanted]


def test_without_links_the_total_says_whether_there_are_more(waits: list[float]) -> None:
    with Hub({"jax": MANY}, links=False) as hub, GitHub(hub.url, sleep=waits.append) as github:
        assert [github.find_page("jax", number).more for number in (1, 2, 3)] == [True, True, False]


def test_a_spent_limit_is_waited_for_until_it_is_reset_by_githubs_own_clock(
    hub: Hub, github: GitHub, waits: list[float]
) -> None:
    hub.faults = [refusal(403, X_RateLimit_Remaining="0", X_RateLimit_Reset=str(LONG_AGO + 30))]
    assert github.find_page("jax", 1).more
    assert waits == [31.0]


@pytest.mark.parametrize("status", [403, 429])
def test_retry_after_is_obeyed(hub: Hub, github: GitHub, waits: list[float], status: int) -> None:
    hub.faults = [refusal(status, Retry_After="7"), refusal(status, Retry_After="8")]
    assert github.find_page("jax", 1).more
    assert waits == [7.0, 8.0]


@pytest.mark.parametrize("headers", [{}, {"Retry_After": "soon"}, {"X_RateLimit_Reset": "never"}])
def test_a_limit_that_does_not_say_how_long_is_given_a_minute(
    hub: Hub, github: GitHub, waits: list[float], headers: dict[str, str]
) -> None:
    hub.faults = [refusal(403, "You have exceeded a secondary rate limit", **headers)]
    github.find_page("jax", 1)
    assert waits == [60.0]


def test_when_the_last_allowed_request_is_spent_the_next_waits_before_it_asks(
    hub: Hub, github: GitHub, waits: list[float]
) -> None:
    hub.headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(LONG_AGO + 9)}
    github.find_page("jax", 1)
    assert waits == []
    hub.headers = {"X-RateLimit-Remaining": "9"}
    github.find_page("jax", 2)
    assert waits == [10.0]


def test_patience_has_an_end_that_counts_all_waits_for_a_page(hub: Hub, github: GitHub, waits: list[float]) -> None:
    hub.faults = [refusal(429, Retry_After="60")] * 3
    with pytest.raises(Stopped, match="rate limit reached"):
        github.find_page("jax", 1)
    assert waits == [60.0]


def test_patience_begins_anew_with_every_page(hub: Hub, github: GitHub, waits: list[float]) -> None:
    for number in (1, 2, 3):
        hub.faults = [refusal(429, Retry_After="90")]
        github.find_page("jax", number)
    assert waits == [90.0] * 3


def test_what_is_forbidden_is_not_waited_for(hub: Hub, github: GitHub, waits: list[float]) -> None:
    hub.faults = [refusal(403, "Resource not accessible")]
    with pytest.raises(GitHubError, match=r"403.*Resource not accessible"):
        github.find_page("jax", 1)
    assert waits == []


def test_a_topic_that_github_refuses_is_asked_for_once(hub: Hub, github: GitHub) -> None:
    with pytest.raises(GitHubError, match="422"):
        github.find_page("none-such", 1)
    assert len(hub.asked) == 1


@pytest.mark.parametrize("fault", [refusal(500), refusal(502), CUT, (200, {}, b"<html>"), answer([]), answer({})])
def test_what_breaks_is_tried_again_with_longer_and_longer_pauses(
    hub: Hub, github: GitHub, waits: list[float], fault: tuple[int, dict[str, str], bytes]
) -> None:
    hub.faults = [fault] * (TRIES - 1)
    assert len(github.find_page("jax", 3).repositories) == 50
    assert waits == sorted(waits)
    assert len(set(waits)) == TRIES - 1


@pytest.mark.parametrize("fault", [refusal(500), (200, {}, b"\xff\xfe{"), answer({"items": 3})])
def test_a_page_that_stays_broken_is_given_up_alone(
    hub: Hub, github: GitHub, fault: tuple[int, dict[str, str], bytes]
) -> None:
    hub.faults = [fault] * TRIES
    with pytest.raises(GitHubError):
        github.find_page("jax", 1)
    assert github.find_page("jax", 2).more


def test_without_a_connection_everything_stops(waits: list[float]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with GitHub(f"http://127.0.0.1:{port}", TOKEN, sleep=waits.append) as github, pytest.raises(Stopped) as caught:
        github.find_page("jax", 1)
    assert str(port) in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_items_that_are_no_repositories_are_passed_over_and_half_known_ones_kept(hub: Hub, github: GitHub) -> None:
    odd = [None, 7, {}, {"full_name": "no-owner"}, {"full_name": "a/b/c"}, {"full_name": ["a/b"]}]
    half = repository("us/half", 3, description="two\u2028lines \ud83d", license=None, stargazers_count="many")
    hub.faults = [answer({"total_count": 7, "items": [*odd, half]})]
    [found] = github.find_page("jax", 1).repositories
    assert (found.name, found.stars, found.license) == ("us/half", 0, "")
    assert found.summary == "two lines ?"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("full_name"), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(json_values, max_size=3), total=json_values, link=st.sampled_from(["", "<x", '<a>; rel="next"']))
def test_whatever_json_comes_ends_in_a_page(hub: Hub, items: list[object], total: object, link: str) -> None:
    hub.faults = [(200, {"Link": link}, json.dumps({"total_count": total, "items": items}).encode())]
    with GitHub(hub.url, sleep=lambda _: None) as github:
        assert isinstance(github.find_page("jax", 1), Page)


def test_the_token_is_sent_and_none_where_none_is_given(hub: Hub, github: GitHub) -> None:
    github.find_page("jax", 1)
    with GitHub(hub.url) as without:
        without.find_page("jax", 1)
    assert hub.tokens == [f"Bearer {TOKEN}", None]


def test_a_refused_token_is_said_without_the_token(hub: Hub, github: GitHub) -> None:
    hub.faults = [refusal(401, f"Bad credentials {TOKEN}")]
    with pytest.raises(DLBenchError, match="GITHUB_TOKEN") as caught:
        github.find_page("jax", 1)
    assert TOKEN not in str(caught.value)


def test_an_answer_that_repeats_the_token_does_not_carry_it_into_a_message(hub: Hub, github: GitHub) -> None:
    hub.faults = [refusal(400, f"you sent {TOKEN}")]
    with pytest.raises(GitHubError) as caught:
        github.find_page("jax", 1)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://hub.test", "hub.test", "http://", "https://[", "https://hub.test/?q=1"])
def test_what_is_no_interface_is_refused_at_once(url: str) -> None:
    with pytest.raises(DLBenchError, match="not the URL"):
        GitHub(url)


def test_the_token_never_goes_over_an_open_connection_to_another_machine() -> None:
    with pytest.raises(DLBenchError, match="unencrypted connection") as caught:
        GitHub("http://hub.test", TOKEN)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "tökén"])
def test_what_cannot_be_a_token_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(DLBenchError, match="GITHUB_TOKEN") as caught:
        GitHub("https://hub.test", token)
    assert token not in str(caught.value)
