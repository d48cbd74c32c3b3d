"""Tables and plots of the stage classifier: scores by method, confusions, and predicted label counts."""

from collections import Counter
from collections.abc import Mapping

from dlbench.analysis.classifier.data import AXES
from dlbench.analysis.classifier.evaluate import Evaluation, Figure
from dlbench.reporting.charts import Cell, draw_grid, stand_alone
from dlbench.reporting.formatting import number, percent
from dlbench.reporting.studies import Pictures
from dlbench.reporting.tables import Tabled

Predictions = Mapping[str, Mapping[str, str]]
"""By id, the label on each axis."""


def tabulate_methods(found: Evaluation) -> Tabled:
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
    """F1 of each label and its confusions, for one method on one axis."""
    rows = [
        [label, str(sum(row.values())), number(figure.by_label[label]), *map(str, row.values())]
        for label, row in figure.confusion.items()
    ]
    return ["label", "prompts", "F1", *figure.confusion], rows


def draw_methods(found: Evaluation) -> Pictures:
    """F1 of every method on every axis, and the confusions of the last method."""
    methods = list(dict.fromkeys(one.way for one in found.figures))
    cells = {
        (one.way, one.axis): Cell(one.f1, f"{one.way}, {one.axis}: {number(one.f1, '.3f')}") for one in found.figures
    }
    drawn = {f"classifier-{found.name}": stand_alone(draw_grid("Weighted F1 in hundredths", methods, AXES, cells))}
    for one in found.figures:
        if one.way == methods[-1]:
            drawn[f"classifier-{found.name}-{one.axis}"] = stand_alone(_draw_confusion(one))
    return drawn


def tabulate_predictions(predicted: Mapping[str, Predictions], true: Mapping[str, Predictions]) -> Tabled:
    """Label counts by dataset: predicted, and true if known."""
    rows = []
    for axis in AXES:
        for name, labels in predicted.items():
            known = {id: found for id, found in true.get(name, {}).items() if axis in found}
            for kind, each in (("predicted", labels), ("true", known)):
                counts = Counter(found[axis] for found in each.values()).most_common()
                rows += [[axis, label, name, kind, str(n), percent(n / len(each))] for label, n in counts]
    return ["axis", "label", "dataset", "", "prompts", "share"], rows


def draw_predictions(predicted: Mapping[str, Predictions]) -> Pictures:
    drawn = {}
    for axis in AXES:
        counts = {name: Counter(found[axis] for found in labels.values()) for name, labels in predicted.items()}
        labels = sorted(set().union(*counts.values()))
        shares = {
            (label, name): each[label] / max(1, each.total()) for name, each in counts.items() for label in labels
        }
        cells = {key: Cell(share, f"{key[1]}, {key[0]}: {percent(share)}") for key, share in shares.items()}
        title = f"{axis.capitalize()} as predicted: % of prompts"
        drawn[f"predicted-{axis}"] = stand_alone(draw_grid(title, labels, list(predicted), cells))
    return drawn


def _draw_confusion(one: Figure) -> str:
    labels = list(one.confusion)
    cells = {
        (label, other): Cell(count / max(1, sum(row.values())), f"{label} predicted as {other}: {count}")
        for label, row in one.confusion.items()
        for other, count in row.items()
    }
    return draw_grid(f"{one.axis.capitalize()}: % of a row's label predicted as a column's", labels, labels, cells)
