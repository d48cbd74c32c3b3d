"""People vote on failures in a real browser: at once on disk, blind to all others, and read by `analyze bugs`."""

import json
import subprocess
import sys
import threading
import urllib.request
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from dlbench.analysis.bugs.agreement import read_people
from dlbench.analysis.bugs.explain import Explained
from dlbench.analysis.bugs.planting.subject import InjectedBug
from dlbench.analysis.bugs.planting.truth import tell
from dlbench.analysis.bugs.rules import classify
from dlbench.analysis.bugs.voting.booth import KEYS, Booth
from dlbench.analysis.bugs.voting.page import VotingServer
from dlbench.errors import DLBenchError
from tests.analysis.bugs.made import BODY, HEADER, find_evidence, make_failure
from tests.browser import CONTRASTS
from tests.cli.test_compare import SCALE, write_run  # noqa: F401 - a fixture

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def explained(toy):
    found = []
    for run, code in (("a", HEADER + BODY), ("b", HEADER + f"    return '{HOSTILE}'\n")):
        failure = make_failure(toy, code, f"AssertionError: {HOSTILE}", run=run)
        found.append(Explained(failure, evidence := find_evidence(toy, code), classify(evidence)))
    return found


@pytest.fixture
def booth(explained, tmp_path):
    return Booth(explained, tmp_path / "votes", lambda one: "def scale(values, factor=2): ...")


@pytest.fixture
def page(booth, browser):
    with VotingServer(booth) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        context, wrong = browser.new_context(viewport={"width": 1300, "height": 900}), []
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        here = f"http://127.0.0.1:{server.server_port}/"
        page.on("request", lambda one: wrong.append(one.url) if not one.url.startswith((here, "data:")) else None)
        page.goto(server.address)
        page.fill("#name", "anna")
        page.keyboard.press("Enter")
        page.wait_for_selector("main:not([hidden])")
        yield page
        context.close()
        server.shutdown()
        thread.join()
    assert wrong == []


def test_a_vote_is_saved_at_once_survives_a_reload_and_counts(page, explained, tmp_path):
    page.fill("#note", "no check")
    page.press("#note", "Tab")
    page.keyboard.press("5")
    expect(page.locator("#said")).to_have_text("saved: missing corner case")
    first = explained[0].failure
    sheet = tmp_path / "votes/anna.jsonl"
    vote = {"run": "a", "instance": SCALE, "sample": 0, "category": "missing_corner_case", "annotator": "anna"}
    assert json.loads(sheet.read_text()) == vote | {"note": "no check"}
    page.keyboard.press("n")
    expect(page.locator("#failure")).to_have_text(explained[1].failure.id)
    page.click('[data-slug="misinterpretation"]')
    expect(page.locator("#progress")).to_have_text("2 of 2 voted by anna")
    page.reload()
    expect(page.locator("#failure")).to_have_text(explained[1].failure.id)
    assert page.get_attribute('[data-slug="misinterpretation"]', "aria-pressed") == "true"
    people = read_people([sheet], [one.failure for one in explained])
    assert people["anna"][first.id] == "missing_corner_case"


def test_a_key_right_after_the_next_one_votes_on_what_comes_next(page, explained, tmp_path):
    for key in "5n1":
        page.keyboard.press(key)
    expect(page.locator("#progress")).to_have_text("2 of 2 voted by anna")
    rows = [json.loads(line) for line in (tmp_path / "votes/anna.jsonl").read_text().splitlines()]
    assert [(row["run"], row["category"]) for row in rows] == [("a", "missing_corner_case"), ("b", "misinterpretation")]


def test_a_note_without_a_vote_is_not_lost_by_going_on(page, explained):
    page.fill("#note", "hard to say")
    page.click("#next")
    expect(page.locator("#trouble")).to_contain_text("A note goes with a vote")
    expect(page.locator("#failure")).to_have_text(explained[0].failure.id)


def test_what_is_shown_is_text_and_says_nothing_of_other_raters(page, explained):
    page.keyboard.press("n")
    expect(page.locator("#code")).to_contain_text(HOSTILE)
    expect(page.locator("#message")).to_contain_text(HOSTILE)
    assert page.locator("main img").count() == 0
    told = page.text_content("#reading")
    assert not [reason for reason in explained[1].by_rules.reasons if reason in told]


def test_all_text_can_be_read_in_light_and_dark(page):
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        weak = [(ratio, element) for ratio, element in page.evaluate(CONTRASTS) if ratio < 4.5]
        assert weak == []


def test_every_category_has_a_key_and_the_last_word_counts(booth, explained):
    known = booth.explain_categories()
    assert len({one["key"] for one in known}) == len(known) == len(KEYS)
    failure = explained[0].failure.id
    for category in ("silly_mistake", "performance"):
        booth.vote("ben", failure, category, "")
    assert booth.show("ben", failure)["mine"]["category"] == "performance"
    assert booth.show("anna", failure)["mine"] is None
    assert [row["voted"] for row in booth.list_failures("ben")] == [True, False]


@pytest.mark.parametrize(
    ("who", "failure", "category", "message"),
    [
        ("ben", "a:toy/none#0", "performance", "no failure"),
        ("ben", f"a:{SCALE}#0", "slowness", "category"),
        ("../ben", f"a:{SCALE}#0", "performance", "no name"),
    ],
)
def test_a_vote_that_cannot_be_counted_is_refused(booth, who, failure, category, message):
    with pytest.raises(DLBenchError, match=message):
        booth.vote(who, failure, category, "")


@pytest.mark.parametrize("name", ["bugs", "vote-bugs"])
def test_of_planted_bugs_people_are_shown_the_half_that_their_votes_are_read_on(write_run, toy_root, tmp_path, name):  # noqa: F811
    """A vote on the other half would be refused as one on no failure."""
    run = write_run("mine", {SCALE: "fail"}, samples=[{"instance": SCALE, "sample": 0, "code": HEADER + BODY}])
    plant = InjectedBug("performance", "complexity", "made", HEADER + BODY)
    truth = replace(tell(SCALE, 0, plant, seed=0), half="building")
    (run / "planted.jsonl").write_text(json.dumps(truth.as_record()) + "\n")
    arguments = ["analyze", name, run, "--out", tmp_path / "out", "--benchmark", toy_root]
    ended = subprocess.run([sys.executable, "-m", "dlbench", *map(str, arguments)], capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    assert "there is no failure to look at" in ended.stderr


def test_the_command_prints_an_address_that_works_and_ends_at_ctrl_c(write_run, toy_root, tmp_path):  # noqa: F811
    run = write_run("mine", {SCALE: "fail"}, samples=[{"instance": SCALE, "sample": 0, "code": HEADER + BODY}])
    arguments = ["analyze", "vote-bugs", run, "--out", tmp_path / "votes", "--benchmark", toy_root, "--no-browser"]
    with subprocess.Popen(
        [sys.executable, "-m", "dlbench", *map(str, arguments)], stdout=subprocess.PIPE, text=True
    ) as process:
        said = process.stdout.readline()
        address = next(word for word in said.split() if word.startswith("http://127.0.0.1:"))
        with urllib.request.urlopen(f"{address}failures?as=anna", timeout=30) as answer:
            assert [row["voted"] for row in json.load(answer)] == [False]
        process.send_signal(2)
        assert process.wait(30) == 130
    assert said.startswith("1 failures to vote on at")
