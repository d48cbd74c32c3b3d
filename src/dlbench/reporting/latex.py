"""How do the scores get into a paper? Tables for `booktabs`, the papers' own: overall, by label, live, variance.

Names of runs come from people and models: every letter that LaTeX would act on is escaped.
"""

import re
from collections.abc import Sequence

from dlbench.dataset import AXES
from dlbench.reporting.standing import Standing
from dlbench.reporting.tables import Tabled, breakdown, overview, spreads, statuses

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
_ANY = re.compile("|".join(map(re.escape, _SPECIAL)))
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def render_latex(standing: Standing) -> str:
    summaries = standing.summaries
    parts = [
        "% Tables of DL-Bench: \\usepackage{booktabs}, then \\input{tables}",
        _table("Runs", "runs", overview(summaries, standing.usages)),
    ]
    for axis in (*AXES, "live"):
        headings, rows = breakdown(summaries, [axis])
        cells = [[row[1].replace("_", " "), *row[2:]] for row in rows]
        parts.append(_table(f"pass@1 by {axis}, with 95 % intervals", axis, (["", *headings[2:]], cells)))
    headings, rows = statuses(summaries)
    cells = [[row[0].replace("_", " "), *row[1:]] for row in rows]
    parts.append(_table("What became of the answers", "statuses", (headings, cells)))
    if standing.repeats:
        parts.append(_table("The same again", "spreads", spreads(standing.repeats)))
    return "\n\n".join(parts) + "\n"


def escape_latex(words: str) -> str:
    return _ANY.sub(lambda found: _SPECIAL[found.group()], _CONTROL.sub(" ", words))


def _table(caption: str, label: str, tabled: Tabled) -> str:
    headings, rows = tabled
    lines = [
        r"\begin{table}",
        f"\\caption{{{escape_latex(caption)}}}\\label{{tab:dlbench-{label}}}",
        f"\\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
        r"\toprule",
        _row(headings),
        r"\midrule",
        *map(_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(escape_latex(cell.strip()) for cell in cells) + r" \\"
