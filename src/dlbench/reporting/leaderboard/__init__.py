"""The leaderboard as a page that opens offline and as Markdown; the papers' results are in a table of their own."""

import tomllib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from statistics import fmean
from string import Template

from dlbench.reporting.formatting import percent, span
from dlbench.reporting.leaderboard.entry import Setting
from dlbench.reporting.leaderboard.ranking import Ranking, Submission
from dlbench.reporting.tables import Columns, Tabled, tabulate, to_markdown

_TITLE = "DL-Bench leaderboard"
_SEPARATOR = "; "
_INTRO = (
    "pass@1 with its 95 % interval (bootstrap over instances, Wilson's where they are few). The rank's interval says"
    " how it could change with other instances: overlapping ranks are not distinguishable. Verified: the number of"
    " samples that the maintainers ran again, all with the claimed verdict. Runs that differ only in the seed are one"
    " line: their mean, and the standard deviation between them in points. Reference and stub are baselines without a"
    " rank."
)


def build_markdown(tables: Sequence[Ranking]) -> str:
    lines = [f"# {_TITLE}", "", _INTRO]
    for heading, note, table in _sections(tables):
        lines += ["", f"## {heading}", "", *([note, ""] if note else []), *to_markdown(table)]
    return "\n".join(lines) + "\n"


def build_page(tables: Sequence[Ranking]) -> str:
    parts = []
    for heading, note, table in _sections(tables):
        text = f"<p>{escape(note)}</p>" if note else ""
        parts.append(f"<section><h2>{escape(heading)}</h2>{text}{_draw(table)}</section>")
    page, style = (_read(name) for name in ("page.html", "page.css"))
    return Template(page).substitute(title=_TITLE, style=style, intro=escape(_INTRO), sections="\n".join(parts))


def _sections(tables: Sequence[Ranking]) -> list[tuple[str, str, Tabled]]:
    found = [(f"Split {one.split}, dataset {one.version}", "", tabulate(one.places, _COLUMNS)) for one in tables]
    if not found:
        found.append(("No submission yet", "Add one with `dlbench leaderboard add RUN`.", (["model"], [])))
    return [*found, _list_reported()]


def _rank(place: Submission) -> str:
    if place.rank is None:
        return "baseline"
    ranks = place.ranks
    return f"{place.rank} ({ranks.low:.0f} to {ranks.high:.0f})" if ranks else str(place.rank)


def _runs(place: Submission) -> str:
    found = place.spread
    return str(found.runs) if found.runs < 2 else f"{found.runs} (sd {100 * found.deviation:.1f})"


def _verified(place: Submission) -> str:
    entries = place.entries
    checks = [one.verified for one in entries if one.verified]
    checked, claimed = sum(check.checked for check in checks), sum(len(one.verdicts) for one in entries)
    return f"{checked} of {claimed}, {max(check.date for check in checks)}" if checks else "no"


def _setting(value: Setting) -> str:
    return "none" if value is None else str(value)


_COLUMNS: Columns[Submission] = {
    "rank": _rank,
    "model": lambda one: one.entry.model,
    "technique": lambda one: one.entry.technique,
    "pass@1": lambda one: percent(one.pass_at_1),
    "95 %": lambda one: span(one.interval),
    "tests passed": lambda one: percent(one.passing_rate),
    "runs": _runs,
    "n": lambda one: one.entry.samples,
    "temperature": lambda one: _setting(one.entry.settings["temperature"]),
    "max tokens": lambda one: _setting(one.entry.settings.get("max_tokens")),
    "date": lambda one: max(entry.date for entry in one.entries),
    "verified": _verified,
    "samples": lambda one: _SEPARATOR.join(entry.samples_from for entry in one.entries),
}


def _list_reported() -> tuple[str, str, Tabled]:
    known = tomllib.loads(_read("reported.toml"))
    headings = ["technique", *known["models"], "mean"]
    rows = [
        [technique, *(f"{score:.1f} %" for score in scores), f"{fmean(scores):.1f} %"]
        for technique, scores in known["pass_at_1"].items()
    ]
    note = f"Reported, not run here, and on another dataset ({known['dataset']}): not comparable with the tables above."
    return "Results reported in the papers", f"{note} Source: {known['source']}.", (headings, rows)


def _draw(table: Tabled) -> str:
    headings, rows = table
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in headings)
    body = "".join(f"<tr>{''.join(f'<td>{_fold(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _fold(cell: str) -> str:
    """Several values are folded: five commands would make the table five times as wide."""
    parts = [_link(part) for part in cell.split(_SEPARATOR)]
    folded = f"<details><summary>{len(parts)} entries</summary>{'<br>'.join(parts)}</details>"
    return parts[0] if len(parts) == 1 else folded


def _link(text: str) -> str:
    """A submitted URL becomes a link; the page itself requests nothing."""
    is_url = text.startswith(("https://", "http://")) and not set(text) & set(" \"'<>")
    return f'<a href="{escape(text)}" rel="noreferrer nofollow">samples</a>' if is_url else escape(text)


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
