"""The site builds without a warning, shows what GitHub shows of the same pages, and asks no other host for anything."""

import os
import re
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.documentation.command_line import whole
from tests.documentation.pages import PAGES, ROOT, name_page

pytestmark = pytest.mark.slow

TAGS = ("a", "blockquote", "code", "em", "h2", "h3", "img", "li", "ol", "p", "pre", "strong", "td", "tr", "ul")
LOADING = {"src", "srcset", "href", "data", "poster", "action", "style"}
LAYERS = ("api", "dataset", "workspace", "execution", "generation", "scoring", "reporting")
PLAIN = [page for page in PAGES if ":::" not in page.read_text(encoding="utf-8")]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, str]:
    """The site, and what was said while it was made."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder, ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def site(built) -> Path:
    return built[0]


def read_article(site: Path, page: Path) -> str:
    name = page.relative_to(ROOT / "docs").with_suffix(".html")
    html = (site / (name.with_name("index.html") if page.name == "README.md" else name)).read_text(encoding="utf-8")
    article = html[html.index("<article") : html.index("</article>")]
    return re.sub(r'<a class="headerlink".*?</a>', "", article)


def count_tags(html: str) -> dict[str, int]:
    return {tag: len(re.findall(rf"<{tag}[ >]", html)) for tag in TAGS}


def test_the_site_builds_without_a_warning(built):
    assert "WARNING" not in built[1]
    assert "ERROR" not in built[1]


@pytest.mark.parametrize("page", PLAIN, ids=name_page)
def test_a_page_has_the_lists_tables_and_blocks_that_github_shows(site, page):
    """To mkdocs a list right below a sentence is part of the sentence, unless docs/hooks.py sets it apart."""
    ours = MarkdownIt("commonmark").enable("table").render(page.read_text(encoding="utf-8"))
    assert count_tags(read_article(site, page)) == count_tags(ours)


class Loads(HTMLParser):
    """What a page loads by itself; a link that a person may follow is not among it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if tag != "a" and name in LOADING]


def test_no_page_loads_anything_from_another_host(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        reader = Loads()
        reader.feed(page.read_text(encoding="utf-8"))
        assert reader.found
        assert not [value for value in reader.found if re.search(r"(^|[(\s\"'])(https?:)?//", value)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.parametrize("layer", LAYERS)
def test_every_name_that_a_part_offers_is_in_the_reference(site, layer):
    html = (site / "reference/python.html").read_text(encoding="utf-8")
    names = getattr(import_module(f"dlbench.{layer}"), "__all__", ["load", "evaluate", "score"])
    # a function that is called as its module stands under the module's name
    shown = {name for name in names if re.search(rf'id="dlbench\.{layer}\.({name}\.)?{name}"', html)}
    assert set(names) - shown == set()


def test_every_command_is_in_the_reference(site):
    html = re.sub(r"<[^>]+>", "", (site / "reference/commands.html").read_text(encoding="utf-8"))

    def walk(command, words: str) -> None:
        assert f"$ {words} " in html, words
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{words} {name}")

    walk(whole(), "dlbench")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """The tests' output stays theirs."""


def test_a_reader_in_a_browser_finds_words_and_reaches_no_other_host(site, browser):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    asked: list[str] = []
    wrong: list[str] = []
    try:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(address + "index.html")
        page.get_by_role("link", name="Tutorial").first.click()
        page.wait_for_url("**/tutorial.html")
        page.keyboard.press("/")
        page.keyboard.type("canary", delay=20)
        page.locator(".md-search-result__item").first.wait_for(timeout=60_000)
        page.close()
    finally:
        server.shutdown()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert wrong == []
