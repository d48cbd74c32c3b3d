"""Trace which functions of the project each test runs, or only collect the tests.

The C profiler of the interpreter runs for one test at a time. The time of a test does not include waiting for a
processor. A test may crash, hang or exit, so it is reported before and after it runs. As a plugin (`-p`), this module
also reports files that skip themselves on import.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Generator
from cProfile import Profile
from types import CodeType
from typing import Any

import pytest

from ..channel import OUTCOMES, Job, Send
from ..pytest_runner import describe_briefly, new_reports, take_report
from ..pytest_runner import pytest_arguments as make_arguments  # under its own name, pytest takes it for a hook
from ..seeding import seed_everything

_MANY = 500


def run_traced(send: Send, job: Job) -> None:
    """Run tests and send what each ran. `collect_only`: list the tests and run none. `trace`: trace the tests, or the
    imports where none runs."""
    tree = job["tree"] + os.sep
    tests = {os.path.join(job["tree"], path) for path in job["hidden"]}
    selected, excluded = set(job["wanted"]), set(job["passed_over"])
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

    imports = Profile(builtins=False)

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        if job["trace"] and job["collect_only"]:
            imports.disable()
            for entry in imports.getstats():
                if isinstance(entry.code, CodeType) and is_own(entry.code):
                    number(entry.code)
        send("collected", tests=len(items), errors=[])
        for start in range(0, len(items) if job["collect_only"] else 0, _MANY):
            send("items", ids=[item.nodeid for item in items[start : start + _MANY]])
        items[:] = [item for item in items if item.nodeid not in excluded and (not selected or item.nodeid in selected)]
        describe_briefly(items, job["tree"])

    def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
        send("begins", id=item.nodeid)
        seed_everything()
        waited = waited_seconds(os.getpid())
        profile = Profile(builtins=False)
        if job["trace"]:
            profile.enable()
        signal.setitimer(signal.ITIMER_REAL, job["seconds_each"])
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            if job["trace"]:
                profile.disable()
            seconds = reports["seconds"].pop(item.nodeid, 0.0) - (waited_seconds(os.getpid()) - waited)
            found = _read(profile, tests, is_own)
            send(
                "traced",
                id=item.nodeid,
                outcome=OUTCOMES[reports["ranks"].pop(item.nodeid, -1)],
                seconds=round(max(seconds, 0.0), 4),
                message=reports["messages"].pop(item.nodeid, "")[-600:],
                **{name: sorted(map(number, codes)) for name, codes in found.items()},
            )

    def stop_test(number: int, frame: object) -> None:
        pytest.fail(f"took longer than {job['seconds_each']:.0f} s")

    signal.signal(signal.SIGALRM, stop_test)
    plugin: Any = type(sys)("tracer")
    plugin.pytest_collectstart = pytest_collectstart
    plugin.pytest_collectreport = pytest_collectreport
    plugin.pytest_collection_modifyitems = pytest.hookimpl(trylast=True)(pytest_collection_modifyitems)
    plugin.pytest_runtest_protocol = pytest.hookimpl(wrapper=True, tryfirst=True)(pytest_runtest_protocol)
    plugin.pytest_runtest_logreport = lambda report: take_report(reports, report)
    send("started")
    if job["trace"] and job["collect_only"]:
        imports.enable()
    with contextlib.suppress(SystemExit):
        pytest.main([*make_arguments(job), "--continue-on-collection-errors"], plugins=[plugin])
    send("end")
    os._exit(0)


def waited_seconds(process: int) -> float:
    """Seconds that a process was ready to run while others had the processor; 0 where /proc may not be read."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{process}/schedstat") as file:
        return int(file.read().split()[1]) / 1e9
    return 0.0


def _read(profile: Profile, tests: set[str], is_own: Callable[[CodeType], bool]) -> dict[str, set[CodeType]]:
    """Functions that the tests called directly, functions of the project that ran deeper, and helpers of the tests."""
    calls: dict[CodeType, list[CodeType]] = {}
    for entry in profile.getstats():
        if isinstance(entry.code, CodeType):
            calls[entry.code] = [one.code for one in entry.calls or () if isinstance(one.code, CodeType)]
    pending = [code for code in calls if code.co_filename in tests]
    seen, direct = set(pending), set[CodeType]()
    helpers = {code for caller in pending for code in calls[caller] if code.co_filename in tests}
    while pending:
        for code in calls.get(pending.pop(), ()):
            if code not in seen:
                seen.add(code)
                if is_own(code):
                    direct.add(code)
                else:
                    pending.append(code)
    return {"direct": direct, "deeper": set(filter(is_own, calls)) - direct, "helpers": helpers}


@pytest.hookimpl(tryfirst=True)
def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        # construction/collect.py knows this beginning; the reader keeps the last 1500 characters
        report.longrepr = f"skips itself on import: {why[:1200]}"
