"""The report shows what an agent did, as the relay recorded it in any of the usual formats, and executes nothing of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from dlbench.agents.relay import Relay
from dlbench.dataset import load
from dlbench.dataset.labels import Track
from dlbench.dataset.tracks import open_track
from dlbench.generation.budget import Budget
from dlbench.reporting.trajectories import read_steps, read_trajectory
from tests.reporting.test_file_tasks import invoke, write_benchmark, write_run
from tests.reporting.test_page_data import bundles

HOSTILE = "<img src=x onerror='window.hacked=1'>"
TASK = {"role": "user", "content": "the task"}


def chat(text: str, *calls: tuple[str, dict[str, str]]) -> dict[str, Any]:
    made = [{"id": "1", "function": {"name": name, "arguments": json.dumps(values)}} for name, values in calls]
    return {"role": "assistant", "content": text, "tool_calls": made}


LS = chat("I look.", ("bash", {"command": "ls"}))
EDIT = chat("", ("edit", {"path": "a.py", "old": "", "new": "x = 1"}), ("bash", {"command": "pytest"}))
DONE = chat("done")
FILES = {"role": "tool", "tool_call_id": "1", "content": f"a.py\n{HOSTILE}"}
LONG = {"role": "tool", "tool_call_id": "1", "content": "0" * 10_000}
ANTHROPIC = [
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "name": "bash", "input": {"command": "ls"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "a.py"}]}]},
    {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
]
RESPONSES = [
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
    {"type": "function_call", "name": "bash", "arguments": '{"command": "ls"}'},
    {"type": "function_call_output", "output": "a.py"},
]
FENCED = [{"role": "assistant", "content": "```bash\nls\n```"}, {"role": "user", "content": "a.py"}]


def record(log: Path, *exchanges: tuple[list[Any], dict[str, Any] | None]) -> None:
    """What the relay writes of requests with these messages and of the answers of an endpoint, which streams them where
    there is none; then of an address that it refuses."""
    relay = Relay(None, log, Budget())
    for messages, answer in exchanges:
        body, new = relay.prepare("/chat/completions", json.dumps({"messages": messages}).encode())
        reply = json.dumps({"choices": [{"message": answer}] if answer else [], "usage": {"prompt_tokens": 5}})
        relay.finish("/chat/completions", 200, body, new, reply, 1.0, "")
    relay.refuse("example.com:443")


def test_a_step_is_an_answer_with_its_calls_and_outputs(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    # the agent sends the answer back without the fields that it does not need
    sent = {name: LS[name] for name in ("role", "content", "tool_calls")}
    record(log, ([TASK], LS | {"refusal": None}), ([TASK, sent, FILES], EDIT), ([TASK, sent, FILES, EDIT, LONG], DONE))
    first, second, third = read_steps(log)
    assert (first["says"], first["calls"], first["outputs"]) == ("I look.", ["bash ls"], [FILES["content"]])
    assert second["calls"] == ["edit path: a.py\nold: \nnew: x = 1", "bash pytest"]
    [shown] = second["outputs"]
    assert "… 6000 characters …" in shown
    assert (third["says"], third["outputs"], third["refused"]) == ("done", [], ["example.com:443"])


def test_a_long_answer_is_cut_once_and_stays_one_step(tmp_path: Path) -> None:
    """Cut twice, it states the length of its own note, and its repetition in the next request is another step."""
    long = {"role": "assistant", "content": "x" * 10_000}
    record(tmp_path / "log", ([TASK], DONE), ([TASK, DONE], long), ([TASK, DONE, long], DONE))
    says = [step["says"] for step in read_steps(tmp_path / "log")]
    assert [len(text) > 1000 for text in says] == [False, True, False]
    assert "… 6000 characters …" in says[1]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (ANTHROPIC, [("I look.", ["bash ls"], ["a.py"]), ("done", [], [])]),
        (RESPONSES, [("I look.", [], []), ("", ["bash ls"], ["a.py"])]),
        (FENCED, [("```bash\nls\n```", [], ["a.py"])]),
        (["text", None, {"role": "assistant", "content": None, "tool_calls": [None]}], [("", [], [])]),
    ],
    ids=["anthropic", "responses", "commands in text", "malformed"],
)
def test_streamed_answers_are_read_from_the_next_request(
    tmp_path: Path, messages: list[Any], expected: list[tuple[str, list[str], list[str]]]
) -> None:
    record(tmp_path / "log", ([TASK], None), ([TASK, *messages], None))
    assert [(one["says"], one["calls"], one["outputs"]) for one in read_steps(tmp_path / "log")] == expected


PATCH = """diff --git a/p/a.py b/p/a.py
index 1..2 100644
--- a/p/a.py
+++ b/p/a.py
@@ -1 +1 @@
-raise NotImplementedError
+x = 1
"""
FACTS = {
    "exit": 0,
    "stopped": "time",
    "seconds": 90.0,
    "cost": 0.25,
    "memory_mb": 1,
    "requests": 3,
    "prompt_tokens": 15,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A benchmark, and a run with the facts of an agent whose first attempt has its files."""
    root = write_benchmark(tmp_path_factory.mktemp("agents") / "tasks", 2, 1)
    benchmark = open_track(load(root), Track.REBUILD)
    folder = write_run(root.parent / "agent", benchmark, (10, 5))
    records = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    leaks = [{"kind": "network", "what": f"pypi.example:443 {HOSTILE}", "count": 2}]
    records = [one | {"agent": FACTS, "leaks": leaks if one["status"] == "pass" else []} for one in records]
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    attempt = folder / "attempts" / f"{records[0]['instance']}-0"
    attempt.mkdir(parents=True)
    record(attempt / "requests.jsonl", ([TASK], LS), ([TASK, LS, FILES], EDIT))
    (attempt / "diff.patch").write_text(PATCH)
    (attempt / "output.log").write_text("printed\n")
    return root, folder


def test_an_attempt_without_requests_shows_what_was_printed(run: tuple[Path, Path], tmp_path: Path) -> None:
    attempt = tmp_path / "attempts/p0/rebuild-t0-0"
    attempt.mkdir(parents=True)
    (attempt / "output.log").write_text("printed\n")
    found = read_trajectory(tmp_path, {"instance": "p0/rebuild-t0", "sample": 0, "agent": FACTS})
    assert found is not None
    assert (found["steps"], found["log"], found["patch"]) == ([], "printed\n", "")


@pytest.fixture
def page(run: tuple[Path, Path], browser: Browser, tmp_path: Path) -> Page:
    root, folder = run
    status, output = invoke("report", folder, "--out", tmp_path / "report", "--benchmark", root)
    assert status == 0, output
    opened = browser.new_page()
    opened.goto((tmp_path / "report/report.html").as_uri())
    opened.wait_for_selector("html[data-ready]")
    return opened


def test_the_page_shows_steps_commands_outputs_and_changes(page: Page) -> None:
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("location.hash = '#view=instance&id=p0/rebuild-t0'")
    page.wait_for_selector(".diff")
    shown = page.locator("#instance").inner_text()
    assert "1.5 minutes, 3 requests, 15 tokens, cost 0.25, limit reached: time" in shown
    assert f"pypi.example:443 {HOSTILE}" in shown
    assert page.locator("#instance summary").all_inner_texts() == ["1. bash ls", "2. edit path: a.py", "p/a.py"]
    assert "a.py\n<img" not in shown
    page.click("summary:has-text('1. bash ls')")
    assert page.locator("pre[aria-label=Output]").first.inner_text() == f"a.py\n{HOSTILE}"
    assert page.locator(".diff .added").all_inner_texts() == ["+++ b/p/a.py\n", "+x = 1\n"]
    assert page.locator("#instance .outcome").count() == 10
    assert page.evaluate("window.hacked ?? null") is None
    assert asked == []


def test_the_page_shows_the_solve_rate_against_cost_tokens_requests_and_time(page: Page) -> None:
    assert page.locator("#effort svg.plot").count() == 4
    cells = page.locator("#effort tbody tr").locator("th, td").all_inner_texts()
    assert [cell.split("\n")[0] for cell in cells] == ["agent", "50.0 %", "0 of 1", "0.2500", "15", "3.0", "1.5"]


def test_a_public_page_has_no_trajectory(run: tuple[Path, Path], tmp_path: Path) -> None:
    """Outputs may quote the project's code."""
    root, folder = run
    texts = []
    for number, options in enumerate(((), ("--public",))):
        invoke("report", folder, "--out", tmp_path / str(number), "--benchmark", root, *options)
        texts.append((tmp_path / str(number) / "report.html").read_text())
    assert ["trajectory" in json.dumps(bundles(text)) for text in texts] == [True, False]
