"""Discovery finds each project once, survives kills and failures, and never leaks the token."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from dlbench.cli.construct import construct
from dlbench.construction import WorkFolder
from dlbench.construction.selection import read_topics, to_one_line
from dlbench.construction.selection.discover import Discovery, discover_on_github, discover_on_index
from dlbench.errors import DLBenchError

from ..workspace.parts import Index
from .fake_github import Hub, refusal, repository
from .fake_index import describe, isolate, publish

TOKEN = "ghp_secret0123456789"
TOPICS = {
    "jax": [repository(f"us/jax-{n}", 900 - n) for n in range(230)] + [repository("Us/Both", 5)],
    "keras": [repository("us/both", 5), repository("us/keras-0", 50)],
}
PAGES = [("jax", 1), ("jax", 2), ("jax", 3), ("keras", 1)]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub(TOPICS) as hub:
        yield hub


def search(work: WorkFolder, hub: Hub, *topics: str, **options: Any) -> Discovery:  # noqa: ANN401 - as the function types them
    options = {"token": TOKEN, "sleep": lambda _: None} | options
    return discover_on_github(work, topics or ("jax", "keras"), base_url=hub.url, **options)


def files_of(work: WorkFolder) -> list[str]:
    return sorted(path.name for path in work.root.rglob("*") if path.is_file())


def test_repository_with_several_topics_is_one_row(work: WorkFolder, hub: Hub) -> None:
    found = search(work, hub)
    rows = {row["name"].lower(): row for row in found.rows}
    assert len(found.rows) == len(rows) == 232
    assert rows["us/both"]["topics"] == ["jax", "keras"]
    assert rows["us/keras-0"] == {
        "name": "us/keras-0", "origin": "github", "url": "https://hub.test/us/keras-0", "stars": 50, "topics": ["keras"],
        "summary": "about us/keras-0", "license": "MIT", "version": "", "uploaded": None, "releases": None,
        "has_sdist": None,
    }  # fmt: skip
    stars = [row["stars"] for row in work.read("discover")]
    assert stars == sorted(stars, reverse=True)


def test_no_page_beyond_the_requested_number_is_fetched(work: WorkFolder, hub: Hub) -> None:
    found = search(work, hub, "jax", most=120)
    assert hub.asked == PAGES[:2]
    assert [row["name"] for row in found.rows] == [f"us/jax-{n}" for n in range(120)]


def test_github_search_stops_at_a_thousand_results(work: WorkFolder) -> None:
    with Hub({"big": [repository(f"us/r-{n}", n) for n in range(1500)]}) as hub:
        found = search(work, hub, "big", most=5000)
    assert len(found.rows) == 1000
    assert hub.asked == [("big", page) for page in range(1, 11)]


PROGRAM = """import sys
from pathlib import Path
from dlbench.construction.selection.discover import discover_on_github
from dlbench.construction import WorkFolder
discover_on_github(WorkFolder(Path(sys.argv[1])), ("jax", "keras"), base_url=sys.argv[2])
"""


def test_killed_search_resumes_without_repeating_requests(work: WorkFolder, hub: Hub, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(work.root), hub.url], env={**os.environ, "GITHUB_TOKEN": TOKEN}
    )
    hub.before = lambda question: process.send_signal(signal.SIGKILL) if question == ("jax", 3) else None
    assert process.wait(60) == -signal.SIGKILL
    assert hub.asked == PAGES[:3]
    assert not work.has("discover")
    hub.before = lambda _: None
    hub.asked.clear()
    found = search(work, hub)
    assert hub.asked == PAGES[2:]
    assert found.rows == search(WorkFolder(tmp_path / "other"), hub).rows
    assert found.complete


def test_page_truncated_by_a_kill_is_fetched_again(work: WorkFolder, hub: Hub) -> None:
    hub.faults = []
    hub.topics = {"jax": TOPICS["jax"]}
    search(work, hub)  # keras is refused, so the pages are kept
    journal = work.path("discover_pages")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    hub.topics = TOPICS
    hub.asked.clear()
    assert len(search(work, hub).rows) == 232
    assert hub.asked == PAGES[2:]


def test_stopped_search_writes_partial_results_and_resumes(work: WorkFolder, hub: Hub) -> None:
    def limit(question: tuple[str, int]) -> None:
        if question == ("jax", 2):
            hub.faults.append(refusal(429, Retry_After="500"))

    hub.before = limit
    found = search(work, hub, patience=100)
    assert "rate limit reached" in found.stopped
    assert not found.complete
    assert len(work.read("discover")) == 100
    hub.before = lambda _: None
    hub.asked.clear()
    assert search(work, hub).complete
    assert hub.asked == PAGES[1:]
    assert len(work.read("discover")) == 232


def test_failed_topic_is_recorded_and_the_others_searched(work: WorkFolder, hub: Hub) -> None:
    found = search(work, hub, "none-such", "keras")
    assert [row["name"] for row in found.rows] == ["us/keras-0", "us/both"]
    [failure] = work.read("discover_failed")
    assert (failure["name"], failure["origin"]) == ("none-such", "github")
    assert "422" in failure["reason"]
    hub.topics = {**TOPICS, "none-such": []}
    search(work, hub, "none-such")
    assert work.read("discover_failed") == []


def test_finished_search_starts_over(work: WorkFolder, hub: Hub) -> None:
    search(work, hub, "keras")
    assert files_of(work) == ["discover.jsonl", "discover_failed.jsonl"]
    hub.topics = {"keras": [repository("us/keras-0", 51)]}
    search(work, hub, "keras")
    assert {row["name"]: row["stars"] for row in work.read("discover")} == {"us/keras-0": 51, "us/both": 5}


def test_repository_found_again_keeps_its_topics(work: WorkFolder, hub: Hub) -> None:
    search(work, hub, "jax")
    search(work, hub, "keras")
    topics = {row["name"].lower(): row["topics"] for row in work.read("discover")}
    assert topics["us/both"] == ["jax", "keras"]


def test_pages_of_another_server_are_not_reused(work: WorkFolder, hub: Hub) -> None:
    search(work, hub, "keras", "none-such")
    with Hub({"keras": [repository("us/other", 1)]}) as other:
        assert [row["name"] for row in search(work, other, "keras").rows] == ["us/other"]


def test_token_is_not_written_to_any_file(
    work: WorkFolder, hub: Hub, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", f"{TOKEN}\n")
    messages: list[str] = []
    hub.faults = [refusal(400, f"you sent {TOKEN}"), refusal(429, f"{TOKEN}", Retry_After="1"), refusal(500, TOKEN)]
    found = search(work, hub, token=None, log=messages.append)
    assert set(hub.tokens) == {f"Bearer {TOKEN}"}
    assert found.failed
    assert messages
    for path in work.root.rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes()
    assert TOKEN not in f"{found}{messages}{capfd.readouterr()}"


@pytest.mark.parametrize("topic", ["deep learning", "jax stars:>5", "Jax", "", "a" * 51])
def test_invalid_topic_is_rejected_before_any_request(work: WorkFolder, hub: Hub, topic: str) -> None:
    with pytest.raises(DLBenchError, match="not a GitHub topic"):
        search(work, hub, "jax", topic)
    assert hub.asked == []


def test_built_in_topics_are_thirty_valid_github_topics(work: WorkFolder) -> None:
    topics = read_topics()
    assert len(topics.github) == len(set(topics.github)) == 30
    with Hub({topic: [] for topic in topics.github}) as hub:
        assert discover_on_github(work, base_url=hub.url, token="").complete
    assert [topic for topic, _ in hub.asked] == list(topics.github)


def test_index_package_becomes_a_row(work: WorkFolder, index: Index) -> None:
    publish(
        index, versions={"1.0": "", "1.10": "", "1.9": "", "2.0rc1": ""}, keywords="Deep-Learning, nets",
        summary="Time\u2028series  forecasting", classifiers=["Topic :: Scientific/Engineering :: Artificial Intelligence"],
    )  # fmt: skip
    [row] = discover_on_index(work, ["Tiny.Net", "tiny-net", " "]).rows
    assert row == {
        "name": "tiny-net", "origin": "index", "url": "", "stars": None,
        "topics": ["deep learning", "time series forecasting", "Topic :: Scientific/Engineering :: Artificial Intelligence"],
        "summary": "Time series forecasting", "license": "MIT", "version": "1.10", "uploaded": "2026-01-04",
        "releases": 4, "has_sdist": True,
    }  # fmt: skip
    assert work.read("discover") == [row]


def test_failed_lookup_is_recorded_and_the_rest_continues(work: WorkFolder, index: Index) -> None:
    publish(index)
    for name, content in {"babble": "<html>", "hollow": {}, "listed": [1], "half": {"info": {}, "releases": 3}}.items():
        describe(index, name, content)
    names = ["none-such", "babble", "hollow", "listed", "half", "../../etc", "tiny-net"]
    found = discover_on_index(work, names)
    assert [row["name"] for row in found.rows] == ["tiny-net"]
    assert [row["name"] for row in work.read("discover_failed")] == names[:-1]
    reasons = {row["name"]: row["reason"] for row in found.failed}
    assert reasons["none-such"] == "no configured index has this package"
    assert reasons["../../etc"] == "not a package name"
    assert "not package metadata" in reasons["hollow"]
    assert not any("etc" in request for request in index.requests)


def test_folder_index_is_not_queried_for_metadata(
    work: WorkFolder, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.file_url)
    [failure] = discover_on_index(work, ["none-such"]).failed
    assert failure["reason"] == "no configured index has this package"


def test_lookups_are_not_repeated_after_a_failure(work: WorkFolder, index: Index) -> None:
    publish(index)
    discover_on_index(work, ["tiny-net", "late"])
    publish(index, "late")
    index.requests.clear()
    found = discover_on_index(work, ["tiny-net", "late"])
    assert [row["name"] for row in found.rows] == ["late", "tiny-net"]
    assert index.requests == ["/pypi/late/json"]
    assert work.read("discover_failed") == []
    assert files_of(work) == ["discover.jsonl", "discover_failed.jsonl"]


def test_both_origins_share_one_file(work: WorkFolder, hub: Hub, index: Index) -> None:
    publish(index)
    search(work, hub, "keras")
    discover_on_index(work, ["tiny-net"])
    search(work, hub, "keras")
    assert [row["name"] for row in work.read("discover")] == ["us/keras-0", "us/both", "tiny-net"]


@given(st.text(st.characters(), max_size=600) | st.none() | st.integers())
def test_any_text_becomes_one_writable_line(text: object) -> None:
    line = to_one_line(text)
    assert len(line.splitlines()) <= 1
    assert len(line) <= 500
    line.encode()


def run(*arguments: object) -> Any:  # noqa: ANN401 - typer does not name its result's type
    return CliRunner().invoke(construct, [str(argument) for argument in arguments])


def test_discover_command_reports_input_and_output_counts(
    work: WorkFolder, hub: Hub, index: Index, tmp_path: Path
) -> None:
    publish(index)
    names = tmp_path / "names.txt"
    names.write_text("# ours\ntiny-net  # good\n\nnone-such\n")
    options = ["--work", work.root, "--github-url", hub.url, "--names-from", names]
    ended = run("discover", "--topic", "keras", "--topic", "jax", *options)
    assert ended.exit_code == 0
    assert "github: 2 topics in, 232 projects out, 0 failed" in ended.stdout
    assert "index: 2 names in, 1 projects out, 1 failed" in ended.stdout
    assert "none-such: no configured index has this package" in ended.stdout


def test_discover_command_prints_json_and_exits_1_if_stopped(work: WorkFolder, hub: Hub) -> None:
    hub.faults = [refusal(429, Retry_After="500")]
    options = ["--work", work.root, "--github-url", hub.url, "--patience", 1, "--json"]
    ended = run("discover", "--topic", "keras", *options)
    assert ended.exit_code == 1
    assert "rate limit reached" in json.loads(ended.stdout)["github"]["stopped"]
    assert run("discover", "--topic", "keras", *options).exit_code == 0


def test_invalid_option_is_reported_with_a_fix(work: WorkFolder, tmp_path: Path) -> None:
    for options in (["--topic", "No Topic"], ["--names-from", tmp_path / "none"], ["--github-url", "nowhere"]):
        ended = run("discover", "--work", work.root, *options)
        assert ended.exit_code == 1
        assert "fix:" in ended.output
        assert "Traceback" not in ended.output
