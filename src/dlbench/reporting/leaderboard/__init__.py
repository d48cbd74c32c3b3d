"""Rank submissions, and show the leaderboard as a page that opens offline and as Markdown.

Two models whose scores lie within each other's noise should not look like first and second. Runs that differ only in
the seed are one submission; ranked one by one, the luckiest of five seeds would push others five ranks down.
"""

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from string import Template

import numpy as np

from dlbench.reporting.leaderboard.entry import Entry, Setting
from dlbench.reporting.tables import Columns, Tabled, percent, span, tabulate, to_markdown
from dlbench.scoring import Interval, Spread, spread
from dlbench.scoring.intervals import bound, find_interval, resample_columns
from dlbench.scoring.tally import group_by


@dataclass(frozen=True)
class Submission:
    """Entries that differ only in their seed."""

    entries: tuple[Entry, ...]
    rank: int | None = None
    """1 for the best pass@1; ties share a rank; None for a baseline."""
    ranks: Interval | None = None

    @property
    def entry(self) -> Entry:
        """The one that represents their common settings."""
        return self.entries[0]

    @property
    def runs(self) -> tuple[Entry, ...]:
        """Without entries that have the same answers as another: at temperature 0 another seed is not another run."""
        return tuple({entry.verdicts_sha256: entry for entry in self.entries}.values())

    @property
    def spread(self) -> Spread:
        return spread([entry.score.pass_at_1 for entry in self.runs])

    @property
    def pass_at_1(self) -> float:
        return self.spread.mean

    @property
    def passing_rate(self) -> float:
        return fmean(entry.score.passing_rate for entry in self.runs)

    @property
    def interval(self) -> Interval:
        """Over instances, of the mean share that passes."""
        if len(self.runs) == 1:
            return Interval(self.entry.score.low, self.entry.score.high, "claimed")
        return find_interval(list(self.find_shares().values()))

    def find_shares(self) -> dict[str, float]:
        """By instance, the share of samples that pass."""
        claims = group_by((claim for entry in self.runs for claim in entry.verdicts), lambda claim: claim.instance)
        return {one: fmean(claim.status == "pass" for claim in each) for one, each in claims.items()}


def group_repeats(entries: Iterable[Entry]) -> list[Submission]:
    """In the order of their first entry; entries without a seed form their own submission."""
    alike: defaultdict[str, list[Entry]] = defaultdict(list)
    for number, entry in enumerate(entries):
        common = {key: value for key, value in entry.settings.items() if key != "seed"}
        own = None if "seed" in entry.settings else number
        alike[json.dumps([common, own], sort_keys=True)].append(entry)
    # padded, the text of a number sorts as the number
    by_seed = [sorted(each, key=lambda one: str(one.settings.get("seed")).rjust(30)) for each in alike.values()]
    return [Submission(tuple(each)) for each in by_seed]


_LEVEL = 1e-12
"""Scores closer than this are equal: the mean of 2/17 and 4/17 is not 3/17 to the last digit."""


@dataclass(frozen=True)
class Ranking:
    split: str
    version: str
    """The first part of the dataset's version: scores are comparable while it is the same."""
    places: tuple[Submission, ...]


def rank_entries(entries: Mapping[Path, Entry]) -> list[Ranking]:
    """Newest version first; the split with most instances first."""
    by_name = [entries[path] for path in sorted(entries, key=lambda path: path.name)]
    tables = group_by(by_name, lambda entry: (entry.benchmark.split(".")[0], entry.split))

    def order(key: tuple[str, str]) -> tuple[int, int, str]:
        size = max(len({claim.instance for claim in entry.verdicts}) for entry in tables[key])
        return -int(key[0]), -size, key[1]

    return [Ranking(split, version, _rank(tables[version, split])) for version, split in sorted(tables, key=order)]


def _rank(entries: Sequence[Entry]) -> tuple[Submission, ...]:
    """The best first."""
    found = group_repeats(entries)
    competing = [one for one in found if not one.entry.is_baseline]
    ranks = iter(_bound_ranks(competing))
    places = []
    for one in found:
        above = sum(other.pass_at_1 > one.pass_at_1 + _LEVEL for other in competing)
        places.append(one if one.entry.is_baseline else replace(one, rank=above + 1, ranks=next(ranks)))
    return tuple(sorted(places, key=lambda one: -one.pass_at_1))


def _bound_ranks(ranked: Sequence[Submission]) -> list[Interval | None]:
    """Over resamples of the instances that all submissions have."""
    shares = [one.find_shares() for one in ranked]
    common = sorted(set.intersection(*map(set, shares))) if shares else []
    if not common:
        return [None] * len(ranked)
    means = resample_columns([[each[one] for one in common] for each in shares])
    ranks = 1 + (means[None, :, :] > means[:, None, :] + _LEVEL).sum(axis=1)
    return [bound(np.asarray(row, dtype=np.float64), "bootstrap") for row in ranks]


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


def _show_rank(place: Submission) -> str:
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
    "rank": _show_rank,
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
