"""How is the study of bugs shown? Beside the papers' Table 6, and with how often planted bugs are named rightly."""

from collections import Counter
from collections.abc import Mapping, Sequence

from dlbench.analysis.bugs.agreement import Agreement, Measured, Votes
from dlbench.analysis.bugs.explain import Explained
from dlbench.analysis.bugs.taxonomy import OTHER, read_categories
from dlbench.reporting.charts import Cell, draw_grid, stand_alone
from dlbench.reporting.formatting import number, percent, span
from dlbench.reporting.tables import Tabled, to_markdown

PAPER = "the papers (GPT-4o)"
_SHOWN = 15


def tabulate_bugs(found: Mapping[str, Sequence[Explained]]) -> Tabled:
    """A category a row and its subcategories below it; a run a column, and the papers' last."""
    counts = {run: Counter((one.by_rules.category, one.by_rules.kind) for one in each) for run, each in found.items()}
    sizes = {run: len(each) for run, each in found.items()}
    total = sum(category.seen for category in read_categories().values())
    rows = [["all", "", *(str(size) for size in sizes.values()), str(total)]]
    for slug, category in read_categories().items():
        sums = {run: sum(count for (name, _), count in each.items() if name == slug) for run, each in counts.items()}
        cells = [_tell(sums[run], sizes[run]) for run in found]
        rows.append([category.name, "", *cells, _tell(category.seen, total)])
        if len(category.kinds) > 1:
            for kind in category.kinds.values():
                told = [str(each[slug, kind.slug]) for each in counts.values()]
                rows.append(["", _name_kind(kind.slug), *told, str(kind.seen)])
    return ["category", "subcategory", *found, PAPER], rows


def tabulate_raters(raters: Mapping[str, Votes]) -> Tabled:
    """What each says of the failures that it has looked at."""
    counts = {rater: Counter(votes.values()) for rater, votes in raters.items()}
    rows = [["all", *(str(len(votes)) for votes in raters.values())]]
    for slug, category in read_categories().items():
        rows.append([category.name, *(_tell(each[slug], each.total()) for each in counts.values())])
    return ["category", *raters], rows


def draw_bugs(found: Mapping[str, Sequence[Explained]]) -> dict[str, str]:
    names = [category.name for category in read_categories().values()]
    total = sum(category.seen for category in read_categories().values())
    cells = {}
    for slug, category in read_categories().items():
        for run, each in found.items():
            share = sum(one.by_rules.category == slug for one in each) / max(1, len(each))
            cells[run, category.name] = Cell(share, f"{run}, {category.name}: {percent(share)}")
        share = category.seen / total
        cells[PAPER, category.name] = Cell(share, f"{PAPER}, {category.name}: {percent(share)}")
    return {"bugs": stand_alone(draw_grid("% of failures by kind of bug", [*found, PAPER], names, cells))}


def tabulate_measured(found: Measured) -> Tabled:
    names = {slug: category.name for slug, category in read_categories().items()}
    rows = [
        [names[row.category], str(row.planted), str(row.named), str(row.right)]
        + [number(value) for value in (row.precision, row.recall, row.f1)]
        for row in found.rows
    ]
    rows.append(
        ["all", str(found.failures), str(found.failures), str(sum(row.right for row in found.rows)), "", "", ""]
    )
    return ["category", "planted", "named", "right", "precision", "recall", "F1"], rows


def tell_measured(found: Measured, half: str) -> list[str]:
    return [
        f"on {found.failures} planted failures ({half}): accuracy {percent(found.accuracy)} ({span(found.interval)}),"
        f" macro-F1 {number(found.macro_f1)}; of those with the right category, where it has several"
        f" subcategories, {percent(found.kinds)} have the right one"
    ]


def tell_right(raters: Mapping[str, Mapping[str, str]], truths: Mapping[str, str]) -> list[str]:
    """How often each rater names the category that was planted, of those it speaks of; rules have their own table."""
    found = []
    for name, votes in raters.items():
        told = [truths[one] == category for one, category in votes.items() if one in truths]
        if told and name != "rules":
            found.append(f"{name} names the planted category of {sum(told)} of {len(told)} failures")
    return found


def tabulate_confusions(confusions: Sequence[tuple[str, str, int]], headings: tuple[str, str]) -> Tabled:
    names = {slug: category.name for slug, category in read_categories().items()}
    rows = [[names[a], names[b], str(count)] for a, b, count in confusions[:_SHOWN]]
    return [*headings, "times"], rows


def draw_confusions(found: Measured) -> dict[str, str]:
    """Rows are what was planted; shares of a row."""
    names = {slug: category.name for slug, category in read_categories().items()}
    sizes = {row.category: row.planted for row in found.rows if row.planted}
    counts = {(row.category, row.category): row.right for row in found.rows if row.planted}
    counts |= {(planted, named): count for planted, named, count in found.confusions}
    cells = {
        (names[a], names[b]): Cell(count / sizes[a], f"{names[a]} named {names[b]}: {count} of {sizes[a]}")
        for (a, b), count in counts.items()
        if count
    }
    picture = draw_grid(
        "Planted (rows), named by the rules: %", [names[one] for one in sizes], [*names.values()], cells
    )
    return {"bugs-confusions": stand_alone(picture)}


def tabulate_agreement(found: Agreement) -> Tabled:
    rows = [[one.a, one.b, str(one.failures), percent(one.share), number(one.alpha)] for one in found.pairs]
    if len(found.pairs) > 1:
        rows.append(["all raters", "", str(found.failures), "", number(found.alpha)])
    return ["rater", "other rater", "failures", "agree", "alpha"], rows


def write_markdown(tables: Mapping[str, Tabled], notes: Sequence[str]) -> str:
    lines = ["# Bugs", ""]
    for title, table in tables.items():
        lines += [f"## {title[:1].upper()}{title[1:]}", *to_markdown(table), ""]
    return "\n".join([*lines, *(f"- {note}" for note in notes), ""])


def _tell(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.0f} %)" if of else "0"


def _name_kind(slug: str) -> str:
    """The papers' last one is what has nothing to do with deep learning; ours is also what no rule found one for."""
    return "none of these" if slug == OTHER else slug
