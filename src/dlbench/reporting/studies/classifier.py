"""How is a classifier shown to a person? What each way reaches, what is taken for what, and how labels are spread."""

from collections import Counter
from collections.abc import Mapping, Sequence

from dlbench.analysis.classifier.data import AXES
from dlbench.analysis.classifier.evaluate import Evaluation, Figure
from dlbench.reporting.charts import Cell, draw_grid, stand_alone
from dlbench.reporting.formatting import number, percent
from dlbench.reporting.studies import Pictures
from dlbench.reporting.tables import Tabled

Answers = Mapping[str, Mapping[str, str]]
"""By id, the label told on each axis."""


def tabulate_ways(found: Evaluation) -> Tabled:
    rows = [
        [
            one.axis,
            one.way,
            str(one.prompts),
            number(one.f1, ".3f"),
            number(one.deviation, ".3f"),
            percent(one.accuracy),
            " ".join(number(fold) for fold in one.by_fold),
        ]
        for axis in AXES
        for one in found.figures
        if one.axis == axis
    ]
    return ["axis", "way", "prompts", "weighted F1", "deviation", "accuracy", "by fold"], rows


def tabulate_labels(figure: Figure) -> Tabled:
    """Of one way on one axis: F1 of each label, and what it was taken for."""
    rows = [
        [label, str(sum(figure.confusion[label].values())), number(figure.by_label[label])]
        + [str(figure.confusion[label][other]) for other in figure.confusion]
        for label in figure.confusion
    ]
    return ["label", "prompts", "F1", *figure.confusion], rows


def draw_ways(found: Evaluation) -> Pictures:
    """F1 of every way on every axis, and of the last way what is taken for what."""
    ways = list(dict.fromkeys(one.way for one in found.figures))
    cells = {
        (one.way, one.axis): Cell(one.f1, f"{one.way}, {one.axis}: {number(one.f1, '.3f')}") for one in found.figures
    }
    drawn = {f"classifier-{found.name}": stand_alone(draw_grid("Weighted F1 in hundredths", ways, AXES, cells))}
    for one in found.figures:
        if one.way == ways[-1]:
            drawn[f"classifier-{found.name}-{one.axis}"] = stand_alone(_draw_confusion(one))
    return drawn


def tabulate_told(told: Mapping[str, Answers], true: Mapping[str, Answers]) -> Tabled:
    """By dataset, how the labels are spread: as told, and as they are where that is known."""
    rows = []
    for axis in AXES:
        for name, answers in told.items():
            rows += [[axis, label, name, "told", *cells] for label, cells in _count(answers, axis)]
            known = {id: labels for id, labels in true.get(name, {}).items() if axis in labels}
            rows += [[axis, label, name, "true", *cells] for label, cells in _count(known, axis)]
    return ["axis", "label", "dataset", "", "prompts", "share"], rows


def draw_told(told: Mapping[str, Answers]) -> Pictures:
    drawn = {}
    for axis in AXES:
        labels = sorted({labels[axis] for answers in told.values() for labels in answers.values()})
        cells = {}
        for name, answers in told.items():
            counts = Counter(labels[axis] for labels in answers.values())
            for label in labels:
                share = counts[label] / max(1, len(answers))
                cells[label, name] = Cell(share, f"{name}, {label}: {percent(share)}")
        drawn[f"told-{axis}"] = stand_alone(
            draw_grid(f"{axis.capitalize()} as told: % of prompts", labels, list(told), cells)
        )
    return drawn


def _count(answers: Answers, axis: str) -> list[tuple[str, list[str]]]:
    counts = Counter(labels[axis] for labels in answers.values())
    return [(label, [str(count), percent(count / len(answers))]) for label, count in counts.most_common()]


def _draw_confusion(one: Figure) -> str:
    labels: Sequence[str] = list(one.confusion)
    cells = {
        (label, other): Cell(count / max(1, sum(row.values())), f"{label} taken for {other}: {count}")
        for label, row in one.confusion.items()
        for other, count in row.items()
    }
    return draw_grid(f"{one.axis.capitalize()}: % of a row's label told as a column's", labels, labels, cells)
