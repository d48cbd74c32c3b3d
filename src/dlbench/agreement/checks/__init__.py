"""Tests that a model wrote: how they are asked for, taken out of its words, and made to stand alone.

They are called checks here, to keep them apart from the project's own tests, which the choice never sees.
"""
