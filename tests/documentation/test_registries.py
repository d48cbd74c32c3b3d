"""The tables of the documentation list every member of a registry."""

import re

from dlbench.agreement.mutation.base import OPERATORS
from dlbench.execution.sandbox.base import SANDBOXES
from dlbench.generation.model import CLIENTS
from dlbench.generation.techniques import TECHNIQUES
from tests.documentation.pages import ROOT


def read(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_table_of_techniques_has_every_summary_in_order():
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", read("techniques.md"), re.MULTILINE)
    listed = [(name, text) for name, text in rows if name in TECHNIQUES]
    assert [name for name, _ in listed] == list(TECHNIQUES)
    for name, text in listed:
        assert text.startswith(TECHNIQUES[name].summary), name


def test_page_on_models_names_every_client():
    page = read("models.md")
    names = [
        client.label.partition("NAME")[0] or client.label.partition(" with ")[2].split()[0]
        for client in CLIENTS.values()
    ]
    assert [name for name in names if f"`{name}" not in page] == []


def test_page_on_sandboxes_names_every_sandbox():
    (header, *_) = [line for line in read("sandbox.md").splitlines() if line.startswith("|")]
    assert [name for name in SANDBOXES if name not in header and name != "unconfined"] == []


def test_page_on_agreement_names_every_operator():
    page = read("agreement.md")
    assert [name for name in OPERATORS if f"`{name}`" not in page] == []
