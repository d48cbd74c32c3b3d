"""Discover projects and select those that can give instances (steps 1 and 2)."""
