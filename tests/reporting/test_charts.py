"""Plots are well-formed XML for any input, draw the right values, and keep names as text."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.reporting.charts import find_top, stand_alone
from dlbench.reporting.charts.bars import draw_counts, draw_mix, draw_ranges
from dlbench.reporting.charts.heatmap import Cell, draw_grid, shade
from dlbench.reporting.charts.points import Panel, Point, draw_course, draw_ratios, draw_scatter
from dlbench.reporting.tables import short
from dlbench.scoring import Interval, Score

XML_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"))


def score(value, low=math.nan, high=math.nan):
    return Score("stage", "x", 10, 10, value, value, Interval(low, high, "wilson"))


def shapes(picture, kind):
    return [one for one in ElementTree.fromstring(picture).iter() if kind in one.get("class", "").split()]


def test_bar_lengths_follow_scores_and_whiskers_follow_intervals():
    picture = draw_ranges("t", {"x": [score(0.8, 0.6, 1.0), score(0.4, 0.2, 0.6)]}, ["a", "b"])
    first, second = (float(shapes(picture, kind)[0].get("width")) for kind in ("s0", "s1"))
    assert first == pytest.approx(2 * second, abs=0.2)
    whisker = shapes(picture, "whisker")[0]
    assert float(whisker.get("x2")) - float(whisker.get("x1")) == pytest.approx(first / 2, abs=0.2)


def test_axis_ends_near_the_largest_value():
    assert [find_top([value]) for value in (0.0, 0.1, 0.11, 0.3, 0.9, math.nan)] == [0.1, 0.1, 0.25, 0.5, 1.0, 1.0]


def test_missing_values_are_empty_cells():
    picture = draw_grid("t", ["r"], ["a", "b", "c"], {("r", "a"): Cell(0.5, "half"), ("r", "c"): Cell(math.nan, "?")})
    assert len(shapes(picture, "none")) == 2
    assert [one.text for one in shapes(picture, "t3")] == ["50"]


def test_shades_increase_with_the_share():
    assert [shade(value) for value in (-0.2, 0, 0.05, 0.2, 0.5, 0.6, 1)] == [0, 0, 1, 2, 3, 4, 5]


def test_ratio_scale_is_logarithmic_with_a_noise_band():
    nothing = Interval(math.nan, math.nan, "n/a")
    ratios = [("double", 2.0, Interval(1.5, 3.0, "bootstrap")), ("half", 0.5, nothing), ("none", math.nan, nothing)]
    picture = draw_ratios("m", [Panel("time", ratios, 2.0)], 0)
    half, double = (float(one.get("cy")) for one in ElementTree.fromstring(picture).iter("circle"))
    (band,) = shapes(picture, "track")
    top, tall = float(band.get("y")), float(band.get("height"))
    assert (top, top + tall) == pytest.approx((double, half), abs=0.2)
    (reach,) = shapes(picture, "reach")
    assert float(reach.get("y2")) < double < float(reach.get("y1"))
    assert "n = 2" in picture
    assert "1/3" in picture


def test_costs_far_apart_get_a_logarithmic_scale():
    points = [
        Point("a", 0.1, 0.5, Interval(0.4, 0.6, "wilson"), 0),
        Point("b", 10, 0.5, Interval(0.4, 0.6, "wilson"), 1),
    ]
    picture = draw_scatter("t", points, "cost")
    assert {"0.1", "1", "10"} <= {one.text for one in ElementTree.fromstring(picture).iter()}


@pytest.mark.parametrize(
    ("most", "marks"),
    [(11220, {"0", "5,000", "10,000", "15,000", "20,000"}), (0.00031, {"0", "0.0001", "0.0002", "0.0003", "0.0004"})],
)
def test_axis_has_round_numbers_without_exponents(most, marks):
    points = [Point("a", value, 0.5, Interval(0.4, 0.6, "wilson"), 0) for value in (most / 2, most)]
    texts = {one.text for one in ElementTree.fromstring(draw_scatter("t", points, "tokens")).iter() if one.text}
    assert marks <= texts
    assert not any("e+" in one or "e-" in one for one in texts)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (11220, "11,220"),
        (1234567.8, "1,234,568"),
        (0.5, "0.5"),
        (12.345, "12.3"),
        (0, "0"),
        (math.nan, "n/a"),
        (-0.00123, "-0.00123"),
    ],
)
def test_short_numbers_have_no_exponent(value, text):
    assert short(value) == text


def test_run_without_cost_can_be_drawn():
    ElementTree.fromstring(draw_scatter("t", [Point("a", 0.0, 0.0, Interval(math.nan, math.nan, "n/a"), 0)], "cost"))


@given(XML_TEXT, st.floats(0, 1), st.booleans())
def test_any_name_stays_text(name, value, known):
    given_score = score(value, value / 2, min(1.0, value + 0.1)) if known else None
    pictures = [
        draw_ranges(name, {name: [given_score]}, [name]),
        draw_course(name, {name: [given_score], "b": [None]}, [name], below=name),
        draw_grid(name, [name], [name], {(name, name): Cell(value, name)}),
        draw_mix(name, {name: {"pass": 3, "fail": 0}}),
        draw_scatter(name, [Point(name, value, value, Interval(0, 1, "wilson"), 9)], name),
        draw_counts(name, {name: 3}),
        draw_ratios(name, [Panel(name, [(name, value, Interval(value, 1, "bootstrap"))], 1 + value)], 9),
    ]
    for picture in pictures:
        tags = {one.tag for one in ElementTree.fromstring(picture).iter()}
        assert tags <= {"svg", "text", "rect", "line", "circle", "polygon", "polyline", "title"}


@pytest.mark.parametrize("title", ["Plain", "a < b & c", 'He said "so"', 'it\'s "both" > &amp;'])
def test_standalone_plot_shows_any_title(title):
    drawn = ElementTree.fromstring(stand_alone(draw_grid(title, ["row"], ["column"], {})))
    assert drawn.get("aria-label") == title
    assert title in {node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")}
