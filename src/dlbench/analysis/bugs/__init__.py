"""Classify the bugs that make candidates fail."""
