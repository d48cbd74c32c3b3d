"""Pictures of scores: SVG that stands in a page and takes its colours from the page's style."""

from dlbench.reporting.pictures.counts import draw_counts
from dlbench.reporting.pictures.course import draw_course
from dlbench.reporting.pictures.grid import Cell, draw_grid
from dlbench.reporting.pictures.mix import draw_mix
from dlbench.reporting.pictures.plane import draw_plane
from dlbench.reporting.pictures.ranges import draw_range, draw_ranges
from dlbench.reporting.pictures.ratios import Panel, draw_ratios
from dlbench.reporting.pictures.scatter import Point, draw_scatter

__all__ = [
    "Cell",
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
]
