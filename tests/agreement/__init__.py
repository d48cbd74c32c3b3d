"""Prompt mutation and dual execution agreement."""
