"""A link of a page leads somewhere, and a file that a page names is there. Other hosts are not asked."""

import pytest

from tests.documentation.pages import FRONT, PAGES, ROOT, name_anchors, name_page, read_links, read_spans

ALL = [*PAGES, *FRONT, ROOT / "CHANGELOG.md"]
MADE = {"contributing.md", "changelog.md", "reference/commands.md"}
"""Pages that docs/hooks.py makes of other files."""


@pytest.mark.parametrize("page", ALL, ids=name_page)
def test_every_link_leads_to_a_file_and_a_heading_of_it(page):
    for link in read_links(page):
        name, _, anchor = link.partition("#")
        if name.startswith(("https://", "http://")):
            continue
        target = (page.parent / name).resolve() if name else page
        if target.is_relative_to(ROOT / "docs") and target.relative_to(ROOT / "docs").as_posix() in MADE:
            continue
        assert target.exists(), link
        assert not anchor or anchor in name_anchors(target), link


@pytest.mark.parametrize("page", [*PAGES, *FRONT], ids=name_page)
def test_every_file_of_ours_that_is_named_is_there(page):
    for span in read_spans(page):
        if span.startswith(("src/", "tests/", "perf/", "docs/", ".ci/")) and not set(span) & set("…<*{ "):
            assert (ROOT / span).exists(), span
