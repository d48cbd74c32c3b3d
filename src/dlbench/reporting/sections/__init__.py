"""Report sections: registered functions that return blocks for the page and, without plots, the Markdown report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from dlbench.dataset.tracks import has_functions
from dlbench.registry import Registry
from dlbench.reporting.charts import Key
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.tables import Tabled, to_markdown


@dataclass(frozen=True)
class Text:
    text: str
    kind: Literal["note", "warning", "heading"] = "note"


@dataclass(frozen=True)
class Table:
    content: Tabled
    title: str
    """Accessible name; shown where the table is folded."""
    is_folded: bool = False
    has_labels: bool = False
    """The first column holds slugs, which the page spells out."""


@dataclass(frozen=True)
class Plot:
    svg: str
    caption: str


@dataclass(frozen=True)
class SideBySide:
    plot: Plot
    table: Table
    is_wide: bool = False
    """Too wide to be side by side."""


@dataclass(frozen=True)
class Legend:
    keys: Sequence[Key]


@dataclass(frozen=True)
class Markup:
    """HTML of ours, for the page only; the caller escapes what is not."""

    html: str


Block = Text | Table | Plot | list[Plot] | SideBySide | Legend | Markup
"""A list of plots is a gallery."""
MakeBlocks = Callable[[ReportData], Sequence[Block]]


@dataclass(frozen=True)
class Section:
    title: str
    make: MakeBlocks
    formats: tuple[str, ...]
    on_functions: bool | None = None


SECTIONS: Registry[Section] = Registry("report section", __name__)
PAGE, MARKDOWN = "page", "markdown"


def section(
    name: str, title: str, *, order: int, formats: tuple[str, ...] = (PAGE, MARKDOWN), on_functions: bool | None = None
) -> Callable[[MakeBlocks], MakeBlocks]:
    """`name`: the anchor of the section on the page; `order`: sections appear by ascending order;
    `on_functions`: it is for functions only (True), or for tasks of many files only (False)."""

    def register(make: MakeBlocks) -> MakeBlocks:
        SECTIONS.add(name, Section(title, make, formats, on_functions), order=order)
        return make

    return register


def make_sections(data: ReportData, target: str) -> list[tuple[str, str, Sequence[Block]]]:
    """Name, title and blocks of every section of a format that has something to show."""
    chosen = {name: one for name, one in SECTIONS.items() if one.on_functions in (None, has_functions(data.benchmark))}
    made = [(name, one.title, one.make(data)) for name, one in chosen.items() if target in one.formats]
    return [each for each in made if each[2]]


def render_markdown(blocks: Sequence[Block]) -> list[str]:
    """Lines, each block followed by an empty one."""
    lines: list[str] = []
    for block in blocks:
        match block:
            case Text(text, kind):
                lines += [f"### {text}" if kind == "heading" else text, ""]
            case Table(content, title, is_folded) | SideBySide(_, Table(content, title, is_folded)):
                lines += [*([f"#### {title}", ""] if is_folded else []), *to_markdown(content), ""]
    return lines
