"""Tables and plots of the stage classifier: scores by method, confusions, and predicted label counts."""

from collections import Counter
from collections.abc import Mapping

from dlbench.analysis.classifier.data import AXES
from dlbench.analysis.classifier.evaluate import Evaluation, Figure
from dlbench.reporting.charts.heatmap import draw_shares, name_figure
from dlbench.reporting.formatting import number, percent
from dlbench.reporting.studies import Pictures
from dlbench.reporting.tables import Tabled, tabulate

Predictions = Mapping[str, Mapping[str, str]]
"""By id, the label on each axis."""


def tabulate_methods(found: Evaluation) -> Tabled:
    return tabulate(sorted(found.figures, key=lambda one: AXES.index(one.axis)), {
        "axis": lambda one: one.axis,
        "way": lambda one: one.way,
        "prompts": lambda one: one.prompts,
        "weighted F1": lambda one: number(one.f1, ".3f"),
        "deviation": lambda one: number(one.deviation, ".3f"),
        "accuracy": lambda one: percent(one.accuracy),
        "by fold": lambda one: " ".join(map(number, one.by_fold)),
    })  # fmt: skip


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
    shares = {(one.way, one.axis): one.f1 for one in found.figures}
    drawing = draw_shares("Weighted F1 in hundredths", methods, AXES, shares, tip=name_figure)
    drawn = {f"classifier-{found.name}": drawing}
    for one in found.figures:
        if one.way == methods[-1]:
            drawn[f"classifier-{found.name}-{one.axis}"] = _draw_confusion(one)
    return drawn


def _draw_confusion(one: Figure) -> str:
    def tip(label: str, other: str, _: float) -> str:
        return f"{label} predicted as {other}: {one.confusion[label][other]}"

    labels, title = list(one.confusion), f"{one.axis.capitalize()}: % of a row's label predicted as a column's"
    totals = {label: max(1, sum(row.values())) for label, row in one.confusion.items()}
    shares = {(a, b): count / totals[a] for a, row in one.confusion.items() for b, count in row.items()}
    return draw_shares(title, labels, labels, shares, tip=tip)


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
        shares = {(one, name): each[one] / max(1, each.total()) for name, each in counts.items() for one in labels}
        title = f"{axis.capitalize()} as predicted: % of prompts"
        drawn[f"predicted-{axis}"] = draw_shares(title, labels, list(predicted), shares, tip=_name_share)
    return drawn


def _name_share(label: str, dataset: str, share: float) -> str:
    return f"{dataset}, {label}: {percent(share)}"
