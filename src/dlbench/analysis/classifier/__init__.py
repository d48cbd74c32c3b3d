"""Classify stage, task and data type of a prompt."""
