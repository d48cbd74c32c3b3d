"""Plots of scores: SVG for a page, whose style gives the colours, or for a file that brings its own."""

from dlbench.reporting.charts.bars import draw_counts, draw_mix, draw_range, draw_ranges
from dlbench.reporting.charts.heatmap import Cell, draw_grid, draw_shares
from dlbench.reporting.charts.points import Panel, Point, draw_course, draw_plane, draw_ratios, draw_scatter
from dlbench.reporting.charts.svg import Key, stand_alone

__all__ = [
    "Cell",
    "Key",
    "Panel",
    "Point",
    "draw_counts",
    "draw_course",
    "draw_grid",
    "draw_mix",
    "draw_plane",
    "draw_range",
    "draw_ranges",
    "draw_ratios",
    "draw_scatter",
    "draw_shares",
    "stand_alone",
]
