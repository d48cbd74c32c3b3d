"""The report and the dataset browser in a real browser: they open from a file, send no request and execute no model output."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser import CONTRASTS, check_theme
from tests.reporting.pages import HOSTILE, SECRET, make_world

BEST, SECOND = "p0/m.f0", "p1/m.f1"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files by name: a report of two runs, a public one, and the browser of the dataset."""
    root = tmp_path_factory.mktemp("pages")
    world = make_world(root)
    runs = [
        world.write_run("weak" + HOSTILE.format("name"), "0100en"),
        world.write_run("strong", "111101", code=f"def f0(x):\n    return '''{HOSTILE.format('code')}'''"),
        world.write_run("middle", "110100"),
    ]
    texts = {"report": world.page(*runs), "public": world.page(*runs, public=True), "browse": world.browser()}
    for name, text in texts.items():
        (root / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: root / f"{name}.html" for name in texts}


@pytest.fixture
def open_page(browser, pages):
    """Opens a page from its file; in the end none has complained or asked anybody for anything.

    `trusted`: False where a test itself tries what the page forbids.
    """
    contexts, wrong = [], []

    def open_page(name="report", place="", *, scheme="light", width=1300, trusted=True):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        if trusted:
            page.on("console", lambda message: wrong.append(message.text))
            page.on("request", lambda request: wrong.append(request.url) if request.url != address else None)
        address = pages[name].as_uri()
        page.goto(address + place)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for context in contexts:
        assert [page.evaluate("window.hacked ?? null") for page in context.pages] == [None]
        context.close()
    assert wrong == []


def rows(page):
    return page.eval_on_selector_all("#list tbody th", "found => found.map((row) => row.textContent)")


def test_page_ranks_runs_and_has_every_section(open_page):
    page = open_page()
    ranking = page.eval_on_selector_all(
        "#runs tbody tr", "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    # 5 and 3 of 6 instances pass; Wilson's intervals
    assert [row[1:3] for row in ranking][:2] == [["strong", "83.3 %"], ["middle", "50.0 %"]]
    assert ranking[0][4] == "43.6 to 97.0"
    assert [row[7:] for row in ranking] == [["6", "12"]] * 3
    titles = page.eval_on_selector_all("#contents a", "found => found.map((link) => link.textContent)")
    expected = ["Runs", "By stage", "By task", "By data", "Stage and task", "Size and date", "Several samples"]
    assert titles == [*expected, "Outcomes", "Cost", "Agreement between runs", "More tables"]
    assert page.locator("#overview svg.plot").count() >= 11


def test_sections_have_anchors(open_page):
    page = open_page(place="#cost")
    assert page.evaluate("document.getElementById('cost').getBoundingClientRect().top < innerHeight")
    page.click("#contents a:has-text('By task')")
    assert page.is_visible("#task")


FILTERED = [
    ({"stage": "training"}, ["p0/m.f0", "p0/m.f2", "p0/m.f4"]),
    ({"project": "p1"}, ["p1/m.f1", "p1/m.f3", "p1/m.f5"]),
    ({"task": "general", "data": "others", "stage": "inference"}, ["p1/m.f1", "p1/m.f3", "p1/m.f5"]),
    ({"status": "error"}, ["p0/m.f4"]),
    ({"run": "1", "status": "fail"}, ["p0/m.f4"]),
    ({"run": "3", "status": "pass"}, ["p1/m.f1"]),
    ({"q": "TENSOR around"}, ["p1/m.f3"]),
    ({"q": "m.f5"}, ["p1/m.f5"]),
    ({"since": "2024-01-01"}, ["p0/m.f4", "p1/m.f5"]),
    ({"difficulty": "unsolved"}, ["p0/m.f4"]),
    ({"sort": "hard", "project": "p0"}, ["p0/m.f4", "p0/m.f2", "p0/m.f0"]),
]


def test_filters_select_instances(open_page):
    page = open_page()
    page.click("header nav >> text=Instances")
    assert len(rows(page)) == 6
    for choices, expected in FILTERED:
        for name, value in choices.items():
            control = page.locator(f"#filter-{name}")
            control.fill(value) if name in ("q", "since") else control.select_option(value)
        assert rows(page) == expected, choices
        page.click("header nav >> text=Instances")
        expect(page.locator("#list tbody tr")).to_have_count(6)


def test_url_stores_the_filters(open_page):
    page = open_page(place="#view=instances&status=fail&run=1&q=m.f")
    page.select_option("#filter-stage", "training")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert rows(page) == ["p0/m.f4"]
    chosen = {name: page.input_value(f"#filter-{name}") for name in ("status", "run", "q", "stage")}
    assert chosen == {"status": "fail", "run": "1", "q": "m.f", "stage": "training"}


def test_scores_of_filtered_instances_are_shown(open_page):
    page = open_page(place="#view=instances&stage=training")
    assert page.text_content("#found") == "3 of 6 instances"
    scores = page.eval_on_selector_all("#found-runs strong", "found => found.map((one) => one.textContent)")
    assert scores == ["66.7 % of 3", "33.3 % of 3", "0.0 % of 3"]


def test_empty_result_can_be_cleared(open_page):
    page = open_page(place="#view=instances&q=nowhere")
    assert rows(page) == []
    page.click("#clear")
    assert len(rows(page)) == 6


def test_instance_shows_prompt_candidates_diff_outcomes_and_messages(open_page):
    page = open_page(place="#view=instances")
    page.click("text=p1/m.f3")
    expect(page.locator("#instance h2")).to_have_text("p1/m.f3")
    assert "Turn a tensor around; None is refused. <b>No markup.</b>" in page.text_content(".prompt")
    assert page.text_content(".prompt code") == "None"
    chips = page.eval_on_selector_all(".chip", "found => found.map((chip) => chip.ariaLabel.replace(/.*, /, ''))")
    assert chips == ["sample 0: pass", "sample 1: pass"] * 2 + ["sample 0: fail", "sample 1: fail"]
    page.click('.chip[aria-label="middle, sample 1: pass"]')
    expect(page.locator('pre[aria-label="Candidate"]')).to_contain_text("# middle, 1")
    assert page.locator('pre[aria-label="Candidate"] .keyword').first.text_content() == "def"
    page.click("text=Difference to the reference")
    expect(page.locator(".diff .line")).to_have_count(5)
    lines = page.eval_on_selector_all(".diff .line", "found => found.map((line) => line.textContent.trimEnd())")
    assert lines == ["  def f3(x):", "+     # middle, 1", "      y = x + 3", f"-     {SECRET}", "+     return y"]
    assert "show=diff" in page.url
    page.locator(".chip.fail").first.click()
    cells = page.eval_on_selector_all(
        ".tests tbody tr", "found => found.map((row) => [...row.cells].map((c) => c.textContent))"
    )
    assert cells == [["t::one", "passed", ""], ["t::two", "failed", "ValueError: " + HOSTILE.format("error")]]
    assert SECRET in page.text_content(".message")
    page.go_back()
    expect(page.locator("#list")).to_be_visible()


def test_candidates_have_links_and_unknown_instances_an_error(open_page):
    page = open_page(place="#view=instance&id=p0%2Fm.f0&of=2&sample=1")
    expect(page.locator('pre[aria-label="Candidate"]')).to_contain_text("# middle, 1")
    page = open_page(place="#view=instance&id=%3Cimg%20src%3Dx%3E")
    assert "There is no instance <img src=x>" in page.text_content("#trouble")


def test_answer_without_code_is_shown_verbatim(open_page):
    page = open_page(place="#view=instance&id=p1%2Fm.f5&of=3&sample=0")
    assert page.text_content("pre.answer") == "I cannot."
    assert page.locator("text=Difference to the reference").count() == 0


def test_hostile_candidates_names_and_messages_stay_text(open_page):
    """`open_page` looks for what they would have done in every test; here all of them are on the page."""
    page = open_page(place="#view=instance&id=p0%2Fm.f0&of=1&sample=0")
    assert HOSTILE.format("code") in page.text_content('pre[aria-label="Candidate"]')
    page.locator(".chip.fail").first.click()
    assert HOSTILE.format("message") in page.text_content(".message")
    assert HOSTILE.format("name") in page.text_content(".answers")
    page.click("header nav >> text=Overview")
    assert HOSTILE.format("name") in page.text_content("#runs")
    assert page.locator("img").count() == 0


def test_page_policy_forbids_other_scripts_and_requests(open_page):
    page = open_page(trusted=False)
    tried = """async () => {
      const blocked = [];
      document.addEventListener("securitypolicyviolation", (event) => blocked.push(event.effectiveDirective));
      document.body.append(Object.assign(document.createElement("script"), { textContent: "window.hacked = 'script'" }));
      document.body.insertAdjacentHTML("beforeend", "<img src='https://elsewhere.invalid/x.png' onerror='window.hacked=1'>");
      await fetch("https://elsewhere.invalid/").catch(() => {});
      await new Promise((done) => setTimeout(done, 200));
      return blocked;
    }"""
    assert set(page.evaluate(tried)) >= {"script-src-elem", "script-src-attr", "img-src", "connect-src"}


@pytest.mark.parametrize("name", ["report", pytest.param("browse", marks=pytest.mark.slow)])
def test_theme_follows_the_system_until_chosen_and_persists(open_page, name):
    check_theme(open_page(name, scheme="dark"), "html[data-ready]")


@pytest.mark.parametrize("name", ["report", pytest.param("browse", marks=pytest.mark.slow)])
def test_nothing_overflows_on_narrow_or_wide_screens(open_page, name):
    page = open_page(name)
    for place in ("#view=overview", "#view=instances", "#view=instance&id=p0%2Fm.f0&of=3&sample=0&show=diff"):
        page.evaluate("place => { location.hash = place }", place)
        page.wait_for_selector(f"#{re.split('[=&]', place)[1]}:visible")
        for width in (360, 700, 1000, 1600):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (place, width)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report", "browse"])
def test_text_contrast_is_at_least_4_5_in_light_and_dark(open_page, name):
    page = open_page(name)
    for place in ("#view=overview", "#view=instances", "#view=instance&id=p0%2Fm.f0&of=3&sample=0&show=diff"):
        page.evaluate("place => { location.hash = place }", place)
        page.wait_for_timeout(300)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found = page.evaluate(CONTRASTS)
            assert len(found) > 20
            assert [pair for pair in found if pair[0] < 4.5 and "<text" not in pair[1]] == [], (place, scheme)


def test_keyboard_shortcuts_search_and_navigate(open_page):
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("m.f")
    assert len(rows(page)) == 6
    page.click(f"text={BEST}")
    expect(page.locator("#instance h2")).to_have_text(BEST)
    for key, shown in (("n", "p0/m.f2"), ("p", BEST)):
        page.keyboard.press(key)
        expect(page.locator("#instance h2")).to_have_text(shown)
    page.keyboard.press("u")
    expect(page.locator("#list")).to_be_visible()
    assert page.input_value("#filter-q") == "m.f"


@pytest.mark.slow
def test_focus_is_visible_on_every_tab_stop(open_page):
    page = open_page(place="#view=instance&id=p0%2Fm.f0")
    seen = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        kind, style = page.evaluate(
            "[document.activeElement.className || document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]"
        )
        seen.add(kind.split()[0])
        assert style != "none" or kind == "BODY", kind
    assert {"A", "BUTTON", "chip", "tab", "scroll", "PRE"} <= seen


def test_dataset_browser_filters_and_shows_instances(open_page):
    page = open_page("browse")
    assert len(rows(page)) == 6
    page.select_option("#filter-framework", "jax")
    assert rows(page) == ["p1/m.f1", "p1/m.f3", "p1/m.f5"]
    page.fill("#filter-q", "tensor")
    page.click("text=p1/m.f3")
    assert "Turn a tensor around" in page.text_content(".prompt")
    assert "def f3(x):" in page.text_content('pre[aria-label="Signature"]')
    page.click("text=Reference, without its docstring")
    assert SECRET in page.text_content('pre[aria-label="Reference"]')
    assert page.eval_on_selector_all(".tests tbody th", "found => found.map((one) => one.textContent)") == [
        "t::one",
        "t::two",
    ]
    page.click("header nav >> text=Overview")
    assert page.locator("#counts figure").count() >= 8


def test_public_page_notes_the_missing_reference(open_page):
    page = open_page("public", "#view=instance&id=p0%2Fm.f0&of=3&sample=0")
    assert "left out of a public page" in page.text_content("#instance")
    assert page.locator("text=Difference to the reference").count() == 0
    assert page.text_content(".message") == "ValueError"


def test_short_names_of_runs_are_not_broken_on_a_narrow_page(open_page):
    lines = """(cells) => cells.map((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell.lastChild);
      return [cell.textContent, range.getClientRects().length];
    })"""
    shown = dict(open_page(width=900).eval_on_selector_all(".ranking tbody th", lines))
    assert (shown["strong"], shown["middle"]) == (1, 1)
