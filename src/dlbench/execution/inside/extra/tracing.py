"""Which functions of the project does each test run?

The interpreter's own profiler, which counts in C, is switched on for one test at a time; who called whom tells what the
test's own code called itself, and what ran only deeper down. Nothing of a candidate is here: it is the project as it
was released, and it may crash, hang or leave; so every test is said before it runs and after.

Which files skip themselves on import, and why?

A plugin of pytest's, named to it by `-p`. Such a file gives no test and no error, so nobody would hear of it; here its
report is turned into that of a file that could not be collected, which is told to whoever listens.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Generator
from cProfile import Profile
from types import CodeType
from typing import Any

import pytest

from ..channel import Send
from ..pytest_runner import describe_briefly, new_reports, seed_everything, take_report
from ..pytest_runner import pytest_arguments as make_arguments  # under its own name, pytest takes it for a hook

_MANY = 500


def run_traced(send: Send, job: dict[str, Any]) -> None:
    """Runs the wanted tests of some files and says what each ran. `trace`: whether to look, or only to run.

    `collect_only`: says which tests there are, and runs none.
    """
    tree = job["tree"] + os.sep
    tests = {os.path.join(job["tree"], path) for path in job["hidden"]}
    wanted, passed_over = set(job["wanted"]), set(job["passed_over"])
    reports = new_reports()
    numbers: dict[tuple[str, int, str], int] = {}

    def number(code: CodeType) -> int:
        key = (code.co_filename.removeprefix(tree), code.co_firstlineno, code.co_name)
        if key not in numbers:
            numbers[key] = len(numbers)
            send("function", path=key[0], line=key[1], name=key[2])
        return numbers[key]

    def is_own(code: CodeType) -> bool:
        return code.co_filename.startswith(tree) and code.co_filename not in tests

    def pytest_collectstart(collector: pytest.Collector) -> None:
        if isinstance(collector, pytest.Module):
            send("collecting", file=collector.nodeid)

    def pytest_collectreport(report: pytest.CollectReport) -> None:
        if report.failed:
            send("uncollected", file=report.nodeid, why=str(report.longrepr)[-1500:])

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        send("collected", tests=len(items), errors=[])
        for start in range(0, len(items) if job["collect_only"] else 0, _MANY):
            send("items", ids=[item.nodeid for item in items[start : start + _MANY]])
        items[:] = [item for item in items if item.nodeid not in passed_over and (not wanted or item.nodeid in wanted)]
        describe_briefly(items, job["tree"])

    def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
        send("begins", id=item.nodeid)
        seed_everything()
        profile = Profile(builtins=False) if job["trace"] else None
        if profile is not None:
            profile.enable()
        signal.setitimer(signal.ITIMER_REAL, job["seconds_each"])
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            direct: set[CodeType] = set()
            everything: set[CodeType] = set()
            helpers: set[CodeType] = set()
            if profile is not None:
                profile.disable()
                direct, everything, helpers = _read(profile, tests, is_own)
            send(
                "traced",
                id=item.nodeid,
                outcome=reports["outcomes"].pop(item.nodeid, "error"),
                seconds=round(reports["seconds"].pop(item.nodeid, 0.0), 4),
                direct=sorted(map(number, direct)),
                deeper=sorted(map(number, everything - direct)),
                helpers=sorted(map(number, helpers)),
                message=reports["messages"].pop(item.nodeid, "")[-600:],
            )

    def leave_test(number: int, frame: object) -> None:
        pytest.fail(f"took longer than {job['seconds_each']:.0f} s")

    signal.signal(signal.SIGALRM, leave_test)
    plugin: Any = type(sys)("tracer")
    plugin.pytest_collectstart = pytest_collectstart
    plugin.pytest_collectreport = pytest_collectreport
    plugin.pytest_collection_modifyitems = pytest.hookimpl(trylast=True)(pytest_collection_modifyitems)
    plugin.pytest_runtest_protocol = pytest.hookimpl(wrapper=True, tryfirst=True)(pytest_runtest_protocol)
    plugin.pytest_runtest_logreport = lambda report: take_report(reports, report)
    send("started")
    with contextlib.suppress(SystemExit):
        pytest.main([*make_arguments(job), "--continue-on-collection-errors"], plugins=[plugin])
    send("end")
    os._exit(0)


def _read(
    profile: Profile, tests: set[str], is_own: Callable[[CodeType], bool]
) -> tuple[set[CodeType], set[CodeType], set[CodeType]]:
    """What the tests' code reached without passing through the project, all of the project that ran, and what of their
    own code the tests called."""
    calls: dict[CodeType, list[CodeType]] = {}
    for entry in profile.getstats():
        if isinstance(entry.code, CodeType):
            inner = entry.calls or ()
            calls[entry.code] = [one.code for one in inner if isinstance(one.code, CodeType)]
    everything = {code for code in calls if is_own(code)}
    pending = [code for code in calls if code.co_filename in tests]
    seen, direct = set(pending), set()
    helpers = {code for caller in pending for code in calls[caller] if code.co_filename in tests}
    while pending:
        for code in calls.get(pending.pop(), ()):
            if code in seen:
                continue
            seen.add(code)
            if is_own(code):
                direct.add(code)
            else:
                pending.append(code)
    return direct, everything, helpers


@pytest.hookimpl(tryfirst=True)
def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        # begins as construction/collect.py knows it by; what listens keeps the last 1500 characters
        report.longrepr = f"skips itself on import: {why[:1200]}"
