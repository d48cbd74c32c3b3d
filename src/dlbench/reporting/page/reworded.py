"""What does a page show of runs that asked in other words? Gain, operators and effects, with a picture of each."""

from html import escape

from dlbench.reporting.page import markup
from dlbench.reporting.standing import Standing
from dlbench.reporting.wordings import study_run

_CAPTIONS = ("pass@1 in percent, by who chooses", "pass@1 in percent, by operator", "percent of wordings, by effect")


def show_wordings(standing: Standing) -> str:
    parts = []
    for name, run in standing.runs.items():
        studied = study_run(run, standing.benchmark)
        if studied is None:
            continue
        parts.append(f"<h3>{escape(name)}</h3>")
        if isinstance(studied, str):
            parts.append(markup.paragraph(studied, "warning"))
            continue
        parts.append(markup.paragraph(f"For the choice {studied.cost}."))
        if studied.fault:
            parts.append(markup.paragraph(studied.fault, "warning"))
        parts.append(
            markup.gallery(
                *(markup.figure(picture, word) for word, picture in zip(_CAPTIONS, studied.grids.values(), strict=True))
            )
        )
        parts += [
            markup.details(title.capitalize(), markup.table(table, title)) for title, table in studied.tables.items()
        ]
    return markup.section("wordings", "In other words", *parts) if parts else ""
