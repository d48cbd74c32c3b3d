"""Bridges to other tools: export the dataset and runs, and import answers. One package per tool."""
