"""The review page in a real browser: nobody else can vote, and nothing is lost."""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dlbench.construction.labelling.review_api import KEYS, AnnotationApi
from dlbench.construction.labelling.review_server import MAX_BODY, ReviewServer
from dlbench.construction.labelling.votes import read_reviews, read_votes
from dlbench.dataset.labels import AXES
from dlbench.errors import DLBenchError
from tests.browser import CONTRASTS, check_theme
from tests.construction.labelling import CLIP, FLIP, SHARE, make_trees, make_work, read_from

VOTE = {"stage": "training", "task": "general", "data": "others"}


@pytest.fixture
def work(tmp_path):
    return make_work(tmp_path / "work")


@pytest.fixture
def trees(tmp_path):
    return make_trees(tmp_path / "trees")


@pytest.fixture
def api(work, trees):
    return AnnotationApi(work, read_from(work, trees))


@pytest.fixture
def server(api):
    with ReviewServer(api) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


# ---- what the server lets through ------------------------------------------------------------------------------------


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.content = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.content)


@pytest.fixture
def ask(server):
    """One request as any program could send it; every header can be forged."""

    def ask(
        path: str, body: object = None, token: str | None = None, raw: bytes | None = None, **headers: str
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} if content is not None else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        where = f"/{server.token if token is None else token}/{path}"
        connection.request("GET" if content is None else "POST", where, content, given)
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    return ask


def vote_body(**more: object) -> dict:
    return {"as": "anna", "id": CLIP, "labels": VOTE} | more


def test_vote_is_on_disk_when_answered(ask, work):
    answer = ask("vote", vote_body(note="clear"))
    assert answer.status == 200
    assert answer.json["mine"] == {"labels": VOTE, "note": "clear", "complete": True, "seen": False}
    rows = [json.loads(line) for line in (work.root / "votes/anna.jsonl").read_text().splitlines()]
    assert rows == [{"id": CLIP, **VOTE, "note": "clear", "at": rows[0]["at"]}]
    assert abs(datetime.now(UTC) - datetime.fromisoformat(rows[0]["at"])) < timedelta(minutes=1)


@pytest.mark.parametrize("token", ["", "wrong", "../votes", "%00"])
def test_requests_without_the_token_are_rejected(ask, work, token):
    for body in (None, vote_body()):
        for path in ("", "functions?as=anna", "vote", "review_page.js"):
            assert ask(path, body, token=token).status == 403
    assert read_votes(work) == []


def test_wrong_token_is_rejected(ask, server):
    for token in (server.token[:-1], server.token + "x", server.token.swapcase()):
        assert ask("labels", token=token).status == 403


def test_each_server_has_a_token_of_its_own(api):
    with ReviewServer(api) as one, ReviewServer(api) as other:
        assert one.token != other.token
        assert len(one.token) >= 32


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:PORT", "localhost", "127.0.0.1:1", "", "[::1]:PORT"]
)
def test_foreign_host_name_is_rejected(ask, server, work, host):
    host = host.replace("PORT", str(server.server_port))
    assert ask("labels", Host=host).status == 403
    assert ask("vote", vote_body(), Host=host).status == 403
    assert read_votes(work) == []


def test_both_own_host_names_are_answered(ask, server):
    for name in ("127.0.0.1", "localhost", "LOCALHOST"):
        assert ask("labels", Host=f"{name}:{server.server_port}").status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:PORT", "http://127.0.0.1:1", ""])
def test_another_page_cannot_vote_even_with_the_token(ask, server, work, origin):
    origin = origin.replace("PORT", str(server.server_port))
    assert ask("vote", vote_body(), Origin=origin).status == 403
    assert read_votes(work) == []


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_form_content_types_are_rejected(ask, work, kind):
    assert ask("vote", vote_body(), Content_Type=kind).status == 415
    assert read_votes(work) == []


def test_oversized_body_is_rejected_before_reading(server):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        host = f"127.0.0.1:{server.server_port}"
        head = f"POST /{server.token}/vote HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {MAX_BODY + 1}\r\n\r\n{{".encode())
        assert connection.makefile("rb").readline().split()[1] == b"413"


@pytest.mark.parametrize("length", ["-1", "x", "9" * 30, "1e3"])
def test_invalid_content_length_is_rejected(server, length):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        host = f"127.0.0.1:{server.server_port}"
        head = f"POST /{server.token}/vote HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {length}\r\n\r\n{{}}".encode())
        assert connection.makefile("rb").readline().split()[1] in (b"411", b"413")


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"1", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"as": ' + b"9" * 5000 + b"}"]
)
def test_body_that_is_not_a_json_object_is_rejected(ask, work, raw):
    answer = ask("vote", raw=raw)
    assert answer.status == 400
    assert answer.json["error"]
    assert read_votes(work) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"as": "anna"},
        {"as": "anna", "id": 3},
        {"as": None, "id": CLIP},
        vote_body(labels=[]),
        vote_body(labels={"stage": "cooking"}),
        vote_body(labels={"stage": {"a": 1}}),
        vote_body(labels={"id": FLIP}),
        vote_body(labels={"seen": True}),
        vote_body(note=4),
    ],
)
def test_body_with_wrong_fields_is_rejected(ask, work, body):
    assert ask("vote", body).status == 400
    assert read_votes(work) == []


@pytest.mark.parametrize("path", ["vote", "reveal", "accept", "reject", "rewrite"])
def test_unknown_function_is_not_found_and_nothing_is_written(ask, work, path):
    for function in ("melody/none", "melody/weak", "", "../../etc/passwd"):
        body = vote_body(id=function, shown="x", prompt="y", reason="z")
        assert ask(path, body).status == 404
    assert ask("function?as=anna&id=melody/none").status == 404
    assert ask("source?id=../../etc/passwd").status == 404
    assert not (work.root / "votes").exists()
    assert not (work.root / "reviews").exists()


@pytest.mark.parametrize(
    "name", ["../anna", "..", "/etc/passwd", "a/b", "Anna", "", "a" * 41, "a\x00b", "-x", "é", "anna.jsonl"]
)
def test_annotator_name_cannot_be_a_path(ask, work, tmp_path, name):
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert ask("vote", vote_body(**{"as": name})).status == 400
    assert ask("reject", {"as": name, "id": CLIP, "reason": "x"}).status == 400
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "path", ["../review.py", "review.py", "..%2freview.py", "votes/anna.jsonl", "review_page.html/../api.py"]
)
def test_no_other_file_is_served(ask, path):
    assert ask(path).status == 404


@pytest.mark.parametrize("path", ["", "review_page.css", "review_page.js", "labels"])
def test_every_answer_has_security_headers(ask, path):
    headers = ask(path).headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


def test_server_listens_on_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"


def test_port_in_use_is_reported(api, server):
    with pytest.raises(DLBenchError, match="cannot listen"):
        ReviewServer(api, port=server.server_port)


def test_every_label_has_a_unique_key():
    assert {axis: len(keys) for axis, keys in KEYS.items()} == {axis: len(labels) for axis, labels in AXES.items()}
    keys = "".join(KEYS.values())
    assert len(set(keys)) == len(keys)
    page = Path(sys.modules[AnnotationApi.__module__].__file__).with_name("review_page.js").read_text()
    actions = page.partition("const ACTIONS = {")[2].partition("};")[0]
    taken = [line.split(":")[0].strip(' "') for line in actions.splitlines() if ":" in line]
    assert {"n", "p", "x"} <= set(taken)
    assert not set(taken) & set(keys)


# ---- what an annotator may see ---------------------------------------------------------------------------------------


def test_other_votes_are_hidden_until_own_vote_is_complete_and_revealed(ask):
    ask("vote", vote_body(**{"as": "ben"}, labels=VOTE | {"stage": "inference"}, note="secret thoughts"))
    for labels in ({}, {"stage": "training"}, {"task": "general"}, {"data": "others"}):
        ask("vote", vote_body(labels=labels))
        for path in ("functions?as=anna", f"function?as=anna&id={CLIP}"):
            assert b"inference" not in ask(path).content
            assert b"secret" not in ask(path).content
            assert b"ben" not in ask(path).content
    shown = ask("reveal", {"as": "anna", "id": CLIP}).json
    assert shown["others"] == [{"annotator": "ben", "labels": VOTE | {"stage": "inference"}, "note": "secret thoughts"}]


def test_incomplete_vote_reveals_nothing(ask):
    ask("vote", vote_body(**{"as": "ben"}))
    ask("vote", vote_body(labels={"stage": "training"}))
    assert ask("reveal", {"as": "anna", "id": CLIP}).status == 400
    assert ask(f"function?as=anna&id={CLIP}").json["others"] is None


def test_vote_cannot_be_changed_after_the_others_were_seen(ask, work):
    ask("vote", vote_body())
    ask("reveal", {"as": "anna", "id": CLIP})
    assert ask("vote", vote_body(labels={"stage": "inference"})).status == 400
    assert [vote.labels["stage"] for vote in read_votes(work)] == ["training"]


def test_prompt_changed_meanwhile_is_neither_overwritten_nor_accepted(ask, work):
    draft = ask(f"function?as=anna&id={CLIP}").json["prompt"]
    assert ask("rewrite", {"as": "ben", "id": CLIP, "prompt": "ben's", "shown": draft}).status == 200
    assert ask("rewrite", {"as": "anna", "id": CLIP, "prompt": "anna's", "shown": draft}).status == 409
    assert ask("accept", {"as": "anna", "id": CLIP, "shown": draft}).status == 409
    assert read_reviews(work)[CLIP].prompt == "ben's"
    assert ask("accept", {"as": "anna", "id": CLIP, "shown": "ben's"}).json["accepted"] == ["anna"]


def test_concurrent_annotators_lose_no_votes(ask, work):
    """Twelve people vote on the three axes, each axis in a request of its own, all at the same time."""
    bodies = [vote_body(**{"as": f"p{n}"}, labels={axis: VOTE[axis]}) for n in range(12) for axis in VOTE]
    with ThreadPoolExecutor(len(bodies)) as pool:
        assert {answer.status for answer in pool.map(lambda body: ask("vote", body), bodies)} == {200}
    assert [vote.labels for vote in read_votes(work)] == [VOTE] * 12


def test_concurrent_requests_of_one_annotator_lose_nothing(ask, work):
    bodies = [{"as": "anna", "id": CLIP, "reason": f"reason {number}"} for number in range(20)]
    with ThreadPoolExecutor(len(bodies)) as pool:
        assert {answer.status for answer in pool.map(lambda body: ask("reject", body), bodies)} == {200}
    written = [json.loads(line)["reason"] for line in (work.root / "reviews/anna.jsonl").read_text().splitlines()]
    assert sorted(written) == sorted(body["reason"] for body in bodies)


def test_changes_by_another_process_are_shown(ask, work):
    assert ask(f"function?as=anna&id={CLIP}").json["others_count"] == 0
    (work.root / "votes").mkdir()
    (work.root / "votes/ben.jsonl").write_text(json.dumps({"id": CLIP, **VOTE}) + "\n")
    assert ask(f"function?as=anna&id={CLIP}").json["others_count"] == 1
    drafts = work.read("drafts", "melody")
    work.write("drafts", [row | {"prompt": "a second draft"} for row in drafts], "melody")
    assert ask(f"function?as=anna&id={CLIP}").json["prompt"] == "a second draft"
    work.write("measured", [], "prism")
    assert [row["id"] for row in ask("functions?as=anna").json] == [CLIP, SHARE]


def test_malformed_vote_file_is_reported(ask, work):
    (work.root / "votes").mkdir()
    (work.root / "votes/ben.jsonl").write_text('{"id": "x", "stage": "trainig"}\n')
    answer = ask("functions?as=anna")
    assert answer.status == 400
    assert "ben.jsonl:1: stage cannot be 'trainig'" in answer.json["error"]


def test_unreadable_code_is_reported_and_does_not_stop_the_review(ask, trees):
    shutil.rmtree(trees / "prism")
    answer = ask(f"source?id={FLIP}")
    assert answer.status == 400
    assert "cannot be read" in answer.json["error"]
    assert ask("vote", vote_body(id=FLIP)).status == 200


# ---- the page, in a browser ------------------------------------------------------------------------------------------


@pytest.fixture
def open_page(browser, server):
    """Open the page under a name; finally check that no page logged errors or contacted another host.

    `refused`: something is asked that the server must refuse, and the browser notes that.
    """
    contexts, wrong = [], []

    def open_page(name: str = "anna", *, refused: bool = False, scheme: str = "light"):
        def note(message) -> None:
            expected = refused and message.text.startswith("Failed to load resource")
            if message.type in ("error", "warning") and not expected:
                wrong.append(message.text)

        context = browser.new_context(viewport={"width": 1300, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", note)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        here = f"http://127.0.0.1:{server.server_port}/"
        page.on(
            "request",
            lambda request: wrong.append(request.url) if not request.url.startswith((here, "data:")) else None,
        )
        page.goto(server.address)
        page.fill("#name", name)
        page.keyboard.press("Enter")
        page.wait_for_selector("main:not([hidden])")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def press(page, *keys: str) -> None:
    """Press keys one after another, each after the previous one is saved."""
    for key in keys:
        page.evaluate("document.getElementById('said').textContent = ''")
        page.keyboard.press(key)
        expect(page.locator("#said")).not_to_be_empty()


def pressed_labels(page) -> list[str]:
    return page.eval_on_selector_all('[aria-pressed="true"]', "found => found.map((button) => button.dataset.slug)")


def shown_function(page) -> str:
    return page.text_content("#function")


def wait_for_function(page, function: str) -> None:
    expect(page.locator("#function")).to_have_text(function)


def rows_of_list(page) -> list[str]:
    return page.eval_on_selector_all("#list .id", "found => found.map((row) => row.textContent)")


def test_votes_by_keys_are_saved_at_once_and_survive_a_reload(open_page, work):
    page = open_page()
    assert shown_function(page) == CLIP
    assert page.text_content("#progress") == "0 of 3 voted by you"
    press(page, "3")
    assert [vote.labels for vote in read_votes(work)] == [{"stage": "training"}]
    press(page, "u", "f")
    assert [vote.labels for vote in read_votes(work)] == [VOTE]
    expect(page.locator("#progress")).to_have_text("1 of 3 voted by you")
    press(page, "4")
    page.reload()
    wait_for_function(page, CLIP)
    assert pressed_labels(page) == ["inference", "general", "others"]
    assert page.text_content("#who") == "anna"


def test_fast_keys_all_count_for_the_function_shown(open_page, work):
    page = open_page()
    for key in "3uf":
        page.keyboard.press(key)
    page.keyboard.press("n")
    wait_for_function(page, SHARE)
    for key in "5qd":
        page.keyboard.press(key)
    expect(page.locator("#progress")).to_have_text("2 of 3 voted by you")
    share = {"stage": "evaluation_metrics", "task": "classification", "data": "structured_array"}
    assert {vote.id: vote.labels for vote in read_votes(work)} == {CLIP: VOTE, SHARE: share}


def test_label_can_be_clicked_and_a_note_is_kept(open_page, work):
    page = open_page()
    page.click('[data-slug="model_construction"]')
    page.wait_for_selector('[data-slug="model_construction"][aria-pressed="true"]')
    page.keyboard.press("c")
    page.keyboard.type("a 3-way case, quite unclear")
    press(page, "Enter")
    page.reload()
    wait_for_function(page, CLIP)
    assert page.input_value("#note") == "a 3-way case, quite unclear"
    (vote,) = read_votes(work)
    assert (vote.labels, vote.note) == ({"stage": "model_construction"}, "a 3-way case, quite unclear")


def test_prompt_is_edited_saved_and_kept_and_keys_typed_into_it_do_not_vote(open_page, work):
    page = open_page()
    page.keyboard.press("m")
    page.keyboard.press("Control+a")
    page.keyboard.type("Clip 5 gradients; see n, p, x and ?")
    press(page, "Control+Enter")
    assert page.text_content("#prompt") == "Clip 5 gradients; see n, p, x and ?"
    page.reload()
    wait_for_function(page, CLIP)
    assert page.text_content("#prompt") == "Clip 5 gradients; see n, p, x and ?"
    assert page.text_content("#prompt-by") == "last changed by anna"
    assert read_votes(work) == []
    assert read_reviews(work)[CLIP].prompt == "Clip 5 gradients; see n, p, x and ?"


def test_prompt_that_is_not_saved_is_not_lost_by_escape_or_by_the_list(open_page, work):
    page = open_page()
    page.keyboard.press("m")
    page.keyboard.type("half a thought")
    page.keyboard.press("Escape")
    page.wait_for_selector("#trouble:not([hidden])")
    page.click("#next")
    assert shown_function(page) == CLIP
    assert "half a thought" in page.input_value("#text")
    page.click("#discard")
    page.keyboard.press("n")
    wait_for_function(page, SHARE)
    assert not (work.root / "reviews").exists()


def test_concurrent_prompt_edits_are_reported_and_both_texts_shown(open_page, api, work):
    page = open_page(refused=True)
    page.keyboard.press("m")
    page.keyboard.press("Control+a")
    page.keyboard.type("anna's text")
    api.rewrite("ben", CLIP, "ben's text", api.show("ben", CLIP)["prompt"])
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#trouble:has-text('ben has changed this prompt meanwhile')")
    page.wait_for_selector('#prompt:has-text("ben\'s text")')
    assert page.input_value("#text") == "anna's text"
    press(page, "Control+Enter")
    assert read_reviews(work)[CLIP].prompt == "anna's text"
    page.wait_for_selector("#trouble", state="hidden")


def test_accepting_and_rejecting_with_a_reason_are_kept(open_page, work):
    page = open_page()
    press(page, "o")
    assert page.text_content("#verdict") == "anna accepts it"
    page.keyboard.press("n")
    wait_for_function(page, SHARE)
    page.keyboard.press("x")
    page.keyboard.press("Control+Enter")
    assert page.is_visible("#reject-dialog")
    page.fill("#reason", "there is no learning in it")
    press(page, "Control+Enter")
    page.reload()
    wait_for_function(page, SHARE)
    assert page.text_content("#verdict") == "anna rejects it: there is no learning in it"
    reviews = read_reviews(work)
    assert (reviews[CLIP].verdict, reviews[SHARE].rejected) == ("accepted", {"anna": "there is no learning in it"})


@pytest.mark.slow
def test_key_right_after_closing_a_dialog_is_handled(open_page):
    """The text field keeps the focus until the next frame."""
    page = open_page()
    page.keyboard.press("x")
    page.fill("#reason", "never mind")
    page.evaluate("""() => {
        document.getElementById("reject-dialog").close("");
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "x", bubbles: true }));
    }""")
    page.wait_for_selector("#reject-dialog", state="visible")


@pytest.mark.slow
def test_cancelled_rejection_is_not_saved(open_page, work):
    page = open_page()
    for leave in ("Escape", "#reject-cancel"):
        page.keyboard.press("x")
        page.fill("#reason", "never mind")
        page.click(leave) if leave.startswith("#") else page.keyboard.press(leave)
        page.wait_for_selector("#reject-dialog", state="hidden")
    press(page, "3")
    assert not (work.root / "reviews").exists()


def test_second_annotator_does_not_see_the_firsts_votes_before_voting(open_page):
    press(open_page("anna"), "3", "u", "f")
    page = open_page("ben", refused=True)
    assert pressed_labels(page) == []
    assert "1 other has voted" in page.text_content("#others")
    assert page.is_disabled("#reveal")
    assert "anna" not in page.text_content("body")
    page.keyboard.press("v")
    page.wait_for_selector("#trouble:has-text('not complete yet')")
    press(page, "2", "u", "f")
    assert "anna" not in page.text_content("body")
    press(page, "v")
    cells = page.eval_on_selector_all(
        "#others tbody tr", "rows => rows.map((row) => [...row.cells].map((c) => c.textContent))"
    )
    assert cells == [
        ["ben (you)", "model construction", "general", "others", ""],
        ["anna", "training ≠", "general", "others", ""],
    ]
    page.keyboard.press("3")
    page.wait_for_selector("#trouble:has-text('is final')")
    assert pressed_labels(page) == ["model_construction", "general", "others"]


def test_name_can_be_changed_and_each_name_has_votes_of_its_own(open_page, work):
    page = open_page("anna")
    press(page, "3")
    page.click("#who")
    page.fill("#name", "Ben")
    page.keyboard.press("Enter")
    expect(page.locator("#who")).to_have_text("ben")
    expect(page.locator('[aria-pressed="true"]')).to_have_count(0)
    press(page, "2")
    assert {vote.annotator: vote.labels["stage"] for vote in read_votes(work)} == {
        "anna": "training",
        "ben": "model_construction",
    }


def test_functions_are_filtered_by_project_state_and_name(open_page, api):
    page = open_page()
    page.keyboard.press("l")
    assert rows_of_list(page) == [CLIP, SHARE, FLIP]
    page.select_option("#project", "prism")
    wait_for_function(page, FLIP)
    assert rows_of_list(page) == [FLIP]
    page.select_option("#project", "")
    page.select_option("#show", "mine")
    press(page, "1", "u", "a")
    expect(page.locator("#list .id")).to_have_count(2)
    assert shown_function(page) == FLIP, "what one has just voted on stays in view"
    page.keyboard.press("p")
    wait_for_function(page, SHARE)
    for name in ("ben", "cleo", "dan"):
        api.vote(name, CLIP, dict(VOTE), None)
    page.reload()
    wait_for_function(page, SHARE)
    assert page.input_value("#show") == "mine"
    page.select_option("#show", "undecided")
    page.keyboard.press("l")
    assert rows_of_list(page) == [SHARE, FLIP]
    page.select_option("#show", "")
    page.keyboard.press("/")
    page.keyboard.type("CLIP")
    wait_for_function(page, CLIP)
    assert rows_of_list(page) == [CLIP]
    page.keyboard.type("zzz")
    page.wait_for_selector("#empty:not([hidden])")


def test_code_is_shown_as_text_and_not_as_html(open_page):
    page = open_page()
    page.keyboard.press("n")
    page.keyboard.press("n")
    page.wait_for_selector("#code:has-text('<script>')")
    assert page.evaluate("window.hacked") is None
    assert page.query_selector("#code b") is None
    assert "[:, ::-1]" in page.text_content("#code")
    assert page.text_content("#measures") == "tests1lines3seconds0.2mutants killed11 of 12"


def test_theme_follows_the_system_until_it_is_chosen_and_is_kept(open_page):
    check_theme(open_page(scheme="dark"), "main:not([hidden])")


def test_layout_adapts_to_the_width_without_overflow(open_page):
    page = open_page()
    press(page, "3", "u", "f", "v")
    for width in (1600, 1300, 1000, 640, 360):
        page.set_viewport_size({"width": width, "height": 900})
        reading, acting = (page.query_selector(part).bounding_box() for part in ("#reading", "#acting"))
        assert (acting["x"] >= reading["x"] + reading["width"]) == (width >= 1000), width
        assert (acting["y"] >= reading["y"] + reading["height"]) == (width < 1000), width
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width


@pytest.mark.slow
def test_all_text_has_a_contrast_of_at_least_four_and_a_half_in_light_and_dark(open_page, api):
    api.vote("ben", CLIP, VOTE | {"stage": "inference"}, None)
    api.accept("ben", CLIP, api.show("ben", CLIP)["prompt"])
    api.reject("cleo", CLIP, "no")
    page = open_page(refused=True)
    press(page, "3", "u", "f", "v", "o")
    page.keyboard.press("l")
    page.keyboard.press("1")
    page.wait_for_selector("#trouble:not([hidden])")
    page.emulate_media(reduced_motion="reduce")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(CONTRASTS)
        assert len(found) > 60
        assert [pair for pair in found if pair[0] < 4.5] == []


@pytest.mark.slow
def test_everything_is_reachable_by_tab_with_visible_focus(open_page):
    page = open_page()
    seen = set()
    for _ in range(45):
        page.keyboard.press("Tab")
        name, style = page.evaluate(
            "[document.activeElement.id || document.activeElement.dataset.slug, getComputedStyle(document.activeElement).outlineStyle]"
        )
        if name:
            seen.add(name)
            assert style != "none", name
    assert {"theme", "help", "project", "show", "find", "next", "code", "note", "edit", "accept", "reject"} <= seen
    assert {str(label) for labels in AXES.values() for label in labels} <= seen


def test_help_lists_every_key(open_page):
    page = open_page()
    page.keyboard.press("?")
    listed = page.eval_on_selector_all("#keys dt kbd", "found => found.map((key) => key.textContent)")
    assert set("15qwertyuasdfcvmoxnpl/?") <= set(listed)
    page.keyboard.press("3")
    page.keyboard.press("Escape")
    assert pressed_labels(page) == []


@pytest.mark.slow
def test_lost_server_is_reported_and_the_vote_not_shown_as_saved(open_page):
    page = open_page(refused=True)
    page.context.set_offline(True)
    page.keyboard.press("3")
    page.wait_for_selector("#trouble:has-text('Not saved')")
    assert pressed_labels(page) == []
    page.context.set_offline(False)
    press(page, "3")
    page.wait_for_selector("#trouble", state="hidden")
    assert pressed_labels(page) == ["training"]


# ---- the command -----------------------------------------------------------------------------------------------------


def test_review_prints_a_working_address_and_stops_at_ctrl_c(work, trees):
    code = "from dlbench.cli.construct import construct; construct()"
    arguments = ["review", "--work", str(work.root), "--tree", str(trees), "--no-browser"]
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        address = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        with urllib.request.urlopen(f"{address}source?id={CLIP}", timeout=30) as answer:
            assert "def clip_by_norm" in json.load(answer)["code"]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}source?id=none", timeout=30)
        process.send_signal(2)
        assert process.wait(30) == 130
    assert line.startswith("3 functions to review at")


def test_review_of_an_empty_folder_is_an_error(tmp_path):
    code = "from dlbench.cli.construct import construct; construct()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "review", "--work", str(tmp_path), "--no-browser"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "no admissible function" in ended.stderr
