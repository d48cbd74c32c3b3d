"""Tables and plots of the bug study, next to the counts of the paper's Table 6."""

from collections import Counter
from collections.abc import Mapping, Sequence

from dlbench.analysis.bugs.agreement import Agreement, Votes
from dlbench.analysis.bugs.taxonomy import read_categories
from dlbench.reporting.charts.heatmap import draw_shares
from dlbench.reporting.formatting import number, percent
from dlbench.reporting.tables import Tabled, to_markdown

PAPER = "the papers (GPT-4o)"
UNCLASSIFIED = "not classified"
_MAX_CONFUSIONS = 15


def tabulate_bugs(found: Mapping[str, Sequence[str]]) -> Tabled:
    """A row per category; a column per run, the papers' last. `found`: by run, the category of each failure or ""."""
    counts = {run: Counter(each) for run, each in found.items()}
    total = sum(category.seen for category in read_categories().values())
    rows = [["all", *(str(each.total()) for each in counts.values()), str(total)]]
    for slug, category in read_categories().items():
        cells = [_share(each[slug], each.total()) for each in counts.values()]
        rows.append([category.name, *cells, _share(category.seen, total)])
    rows.append([UNCLASSIFIED, *(_share(each[""], each.total()) for each in counts.values()), _share(0, total)])
    return ["category", *found, PAPER], rows


def tabulate_raters(raters: Mapping[str, Votes]) -> Tabled:
    """Categories per rater, over the failures that the rater has rated."""
    counts = [Counter(votes.values()) for votes in raters.values()]
    rows = [["all", *(str(each.total()) for each in counts)]]
    for slug, category in read_categories().items():
        rows.append([category.name, *(_share(each[slug], each.total()) for each in counts)])
    return ["category", *raters], rows


def draw_bugs(found: Mapping[str, Sequence[str]]) -> dict[str, str]:
    categories = read_categories()
    total = sum(category.seen for category in categories.values())
    shares = {(PAPER, one.name): one.seen / total for one in categories.values()} | {(PAPER, UNCLASSIFIED): 0.0}
    for run, each in found.items():
        counts = Counter(categories[slug].name if slug else UNCLASSIFIED for slug in each)
        shares |= {(run, name): counts[name] / max(1, len(each)) for _, name in [*shares]}
    names = [*(category.name for category in categories.values()), UNCLASSIFIED]
    return {"bugs": draw_shares("% of failures by kind of bug", [*found, PAPER], names, shares)}


def tabulate_confusions(confusions: Sequence[tuple[str, str, int]], headings: tuple[str, str]) -> Tabled:
    known = read_categories()
    rows = [[known[a].name, known[b].name, str(count)] for a, b, count in confusions[:_MAX_CONFUSIONS]]
    return [*headings, "times"], rows


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


def _share(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.0f} %)" if of else "0"
