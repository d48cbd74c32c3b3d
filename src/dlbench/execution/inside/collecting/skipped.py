"""Which files skip themselves on import, and why?

A plugin of pytest's, named to it by `-p`. Such a file gives no test and no error, so nobody would hear of it; here its
report is turned into that of a file that could not be collected, which is told to whoever listens.
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        # begins as construction/collect.py knows it by; what listens keeps the last 1500 characters
        report.longrepr = f"skips itself on import: {why[:1200]}"
