"""Harness code that decides no verdict: collecting, tracing, and cross runs of solutions against model-written checks.

It is a package of its own so that `inside_key()` covers only the code that decides verdicts.
"""
