"""Plots of scores: SVG for a page, whose style gives the colours, or for a file that brings its own."""
