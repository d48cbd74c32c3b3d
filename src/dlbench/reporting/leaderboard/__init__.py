"""The leaderboard: what was submitted, whether it is so, and the page that shows it.

How is the leaderboard shown? As a page that opens offline and asks no other host for anything, and as Markdown.

What the papers report stands in a table of its own, marked as reported and as of another dataset: beside our ranks it
would be read as comparable, which it is not.
"""

import tomllib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from statistics import fmean
from string import Template

from dlbench.reporting.formatting import percent, span
from dlbench.reporting.leaderboard.entry import Setting
from dlbench.reporting.leaderboard.ranking import RankedSubmission, Ranking, Submission
from dlbench.reporting.tables import Tabled, to_markdown
from dlbench.scoring import Spread

_TITLE = "DL-Bench leaderboard"
_APART = "; "
_INTRO = (
    "pass@1 with its 95 % interval (bootstrap over instances, Wilson's where they are few). The rank's interval says"
    " where a model could stand had other instances been chosen: overlapping ranks are not told apart. Verified: how"
    " many samples the keepers of this board have run again, all with the claimed verdict."
    " Runs that differ in the seed alone are one line: their mean, and the standard deviation between them in points."
    " Reference and stub are baselines and have no rank."
)


def build_markdown(tables: Sequence[Ranking]) -> str:
    lines = [f"# {_TITLE}", "", _INTRO]
    for heading, note, table in _sections(tables):
        lines += ["", f"## {heading}", "", *([note, ""] if note else []), *to_markdown(table)]
    return "\n".join(lines) + "\n"


def build_page(tables: Sequence[Ranking]) -> str:
    parts = []
    for heading, note, table in _sections(tables):
        told = f"<p>{escape(note)}</p>" if note else ""
        parts.append(f"<section><h2>{escape(heading)}</h2>{told}{_draw(table)}</section>")
    page, style = (_read(name) for name in ("page.html", "page.css"))
    return Template(page).substitute(title=_TITLE, style=style, intro=escape(_INTRO), sections="\n".join(parts))


def _sections(tables: Sequence[Ranking]) -> list[tuple[str, str, Tabled]]:
    found = [(f"Split {table.split}, dataset {table.version}", "", _list_places(table.places)) for table in tables]
    if not found:
        found.append(("No submission yet", "`dlbench leaderboard add RUN` makes one.", (["model"], [])))
    return [*found, _list_reported()]


def _list_places(places: Sequence[RankedSubmission]) -> Tabled:
    headings = [
        "rank",
        "model",
        "technique",
        "pass@1",
        "95 %",
        "tests passed",
        "runs",
        "n",
        "temperature",
        "max tokens",
        "date",
        "verified",
        "samples",
    ]
    return headings, [[*_tell_rank(place), *_tell_submitted(place.submitted)] for place in places]


def _tell_rank(place: RankedSubmission) -> list[str]:
    if place.rank is None:
        return ["baseline"]
    ranks = place.ranks
    return [f"{place.rank} ({ranks.low:.0f} to {ranks.high:.0f})" if ranks else str(place.rank)]


def _tell_submitted(submitted: Submission) -> list[str]:
    entry, entries = submitted.entry, submitted.entries
    checks = [one.verified for one in entries if one.verified]
    checked, claimed = sum(check.checked for check in checks), sum(len(one.verdicts) for one in entries)
    return [
        entry.model,
        entry.technique,
        percent(submitted.pass_at_1),
        span(submitted.interval),
        percent(submitted.passing_rate),
        _tell_spread(submitted.spread),
        str(entry.samples),
        _tell_setting(entry.settings["temperature"]),
        _tell_setting(entry.settings.get("max_tokens")),
        str(max(one.date for one in entries)),
        f"{checked} of {claimed}, {max(check.date for check in checks)}" if checks else "no",
        _APART.join(one.samples_from for one in entries),
    ]


def _tell_spread(found: Spread) -> str:
    return str(found.runs) if found.runs < 2 else f"{found.runs} (sd {100 * found.deviation:.1f})"


def _tell_setting(value: Setting) -> str:
    return "none" if value is None else str(value)


def _list_reported() -> tuple[str, str, Tabled]:
    known = tomllib.loads(_read("reported.toml"))
    headings = ["technique", *known["models"], "mean"]
    rows = [
        [technique, *(f"{score:.1f} %" for score in scores), f"{fmean(scores):.1f} %"]
        for technique, scores in known["pass_at_1"].items()
    ]
    note = f"Reported, not run here, and on another dataset ({known['dataset']}): not comparable with the above."
    return "What the papers report", f"{note} Source: {known['source']}.", (headings, rows)


def _draw(table: Tabled) -> str:
    headings, rows = table
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in headings)
    body = "".join(f"<tr>{''.join(f'<td>{_fold(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _fold(cell: str) -> str:
    """One thing as it is, several behind a line that opens: five commands would make the table five times as wide."""
    parts = [_link(part) for part in cell.split(_APART)]
    folded = f"<details><summary>{len(parts)} of them</summary>{'<br>'.join(parts)}</details>"
    return parts[0] if len(parts) == 1 else folded


def _link(told: str) -> str:
    """An address that was submitted is followed only by whoever clicks it."""
    is_address = told.startswith(("https://", "http://")) and not set(told) & set(" \"'<>")
    return f'<a href="{escape(told)}" rel="noreferrer nofollow">samples</a>' if is_address else escape(told)


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
