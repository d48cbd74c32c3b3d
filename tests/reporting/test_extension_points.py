"""A registered statistic or report section appears everywhere without another edit."""

import pytest

from dlbench.registry import Registry
from dlbench.reporting import write_report
from dlbench.reporting.export import list_scores, render_latex
from dlbench.reporting.sections import MARKDOWN, PAGE, SECTIONS, Plot, Section, Table, Text
from dlbench.reporting.statistics import STATISTICS, Statistic, tabulate_statistics
from dlbench.reporting.tables import percent
from tests.reporting.pages import make_world


@pytest.fixture
def world(tmp_path):
    return make_world(tmp_path)


def register(monkeypatch, registry: Registry, name, member):
    list(registry)  # loads the members that exist
    monkeypatch.setitem(registry._members, name, (100, member))


def test_new_statistic_is_in_every_table_and_on_the_page(world, monkeypatch):
    failed = Statistic("failed", lambda one: 1 - one.score.pass_at_1, percent, ("failure_rate",), "failed")
    register(monkeypatch, STATISTICS, "failed", failed)
    folder = world.write_run("m", "111000")
    data = world.collect(folder)
    assert ["failed", "50.0 %"] in tabulate_statistics(data.subjects)[1]
    assert next(list_scores(data))["failure_rate"] == 0.5
    assert r"failed & 50.0 \%" in render_latex(data)
    assert "| failed | 50.0 % |" in write_report(data)
    assert '<th scope="col" class="number minor">failed</th>' in world.page(folder)


def test_optional_statistic_is_hidden_without_a_value(world):
    headings = [row[0] for row in tabulate_statistics(world.collect(world.write_run("m", "111000")).subjects)[1]]
    assert "pass@3" not in headings  # two samples each
    assert "completion tokens per sample" in headings
    assert "prompt tokens per sample" not in headings


def test_new_section_is_on_the_page_and_in_markdown_in_its_order(world, monkeypatch):
    def make(data):
        return [
            Table((["run"], [[name] for name in data.names]), "names"),
            Text("<b>note</b>"),
            Plot("<svg></svg>", "p"),
        ]

    register(monkeypatch, SECTIONS, "extra", Section("Extra section", make, (PAGE, MARKDOWN)))
    register(monkeypatch, SECTIONS, "empty", Section("Empty section", lambda data: [], (PAGE, MARKDOWN)))
    folder = world.write_run("m", "111000")
    page, text = world.page(folder), write_report(world.collect(folder))
    assert '<section id="extra"><h2>Extra section</h2>' in page
    assert "&lt;b&gt;note&lt;/b&gt;" in page
    assert text.index("## Outcomes") < text.index("## Extra section") < text.index("## Verdicts")
    assert "<svg" not in text
    assert "Empty section" not in page + text


def test_page_only_sections_are_not_in_markdown(world):
    text = write_report(world.collect(world.write_run("m", "111000")))
    assert "## Stage and task" not in text
    assert "## pass@1" in text
