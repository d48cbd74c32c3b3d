"""Does the judge still tell right from wrong?

Small tests of ours, run by the same machinery in the same process before and after the instance's own: some must pass
and some must fail. A candidate that made every test pass, or that made a way of comparing say yes to everything, makes
these pass too.
"""

from __future__ import annotations

import random
import sys
import types
import unittest
from collections.abc import Callable
from typing import Any

import pytest


def build_canaries(session: pytest.Session) -> tuple[list[pytest.Item], list[pytest.Item], dict[str, str]]:
    """Items to run before, items to run after, and what must become of each."""
    before = _collect(session, "before", _FAST)
    after = _collect(session, "after", _THOROUGH)
    expected = {item.nodeid: "failed" if "wrong" in item.name else "passed" for item in [*before, *after]}
    return before, after, expected


def _collect(session: pytest.Session, when: str, tests: dict[str, Any]) -> list[pytest.Item]:
    module = types.ModuleType(f"test_{when}_{random.SystemRandom().getrandbits(32):x}")
    for name, value in tests.items():
        setattr(module, name, value)

    class Canaries(pytest.Module):
        def _getobj(self) -> types.ModuleType:
            return module

    node = Canaries.from_parent(session, path=session.path / f"{module.__name__}.py")
    items = list(session.genitems(node))
    for item in items:  # nobody reads why it failed
        item.repr_failure = lambda excinfo, style=None: "as it should"  # type: ignore[method-assign]
    return items


def _test_right() -> None:
    assert [1, 2.5, "x"] == [1, 2.5, "x"]
    with pytest.raises(ZeroDivisionError):
        1 / 0  # noqa: B018


def _test_wrong_assertion() -> None:
    left, right = [1, 2], [1, 3]
    assert left == right


class _TestCase(unittest.TestCase):
    def test_wrong_equal(self) -> None:
        self.assertEqual(1, 2)


def _test_wrong_comparisons() -> None:
    """Fails, as it must, only when every way of comparing still tells one from two."""
    case = _TestCase("test_wrong_equal")
    checks: list[Callable[[], object]] = [
        lambda: pytest.raises(ValueError, int),
        lambda: _must(pytest.approx(2.0) == 1.0),
        lambda: _must(abs(1.0 - 1.5) <= 0.1),
        lambda: _must(all([True, 0]) or any([False, ""])),
        lambda: _must(isinstance(1, str) or len([1]) != 1 or not {1} < {1, 2}),
        lambda: case.assertTrue(False),
        lambda: case.assertEqual(1, 2),
        lambda: case.assertAlmostEqual(1.0, 2.0),
        lambda: case.assertRaises(ValueError, int),
        *_numpy_checks(sys.modules.get("numpy")),
        *_torch_checks(sys.modules.get("torch")),
    ]
    for check in checks:
        try:
            check()
        except (AssertionError, pytest.fail.Exception):
            continue
        return
    raise AssertionError("every comparison still tells")


def _numpy_checks(numpy: Any) -> list[Callable[[], object]]:  # noqa: ANN401 - the module, where it is loaded
    if numpy is None:
        return []
    ones, twos = numpy.ones(3), numpy.full(3, 2.0)
    return [
        lambda: numpy.testing.assert_allclose(ones, twos),
        lambda: numpy.testing.assert_array_equal(ones, twos),
        lambda: numpy.testing.assert_almost_equal(1.0, 2.0),
        lambda: _must(numpy.allclose(ones, twos)),
        lambda: _must((ones == twos).all()),
    ]


def _torch_checks(torch: Any) -> list[Callable[[], object]]:  # noqa: ANN401 - the module, where it is loaded
    if torch is None or not hasattr(torch, "testing"):
        return []
    ones, twos = torch.ones(3), torch.full((3,), 2.0)
    return [
        lambda: torch.testing.assert_close(ones, twos),
        lambda: _must(torch.allclose(ones, twos)),
        lambda: _must(torch.equal(ones, twos)),
        lambda: _must(bool(torch.isclose(ones, twos).any())),
        lambda: _must(bool((ones == twos).any())),
        lambda: _must(bool(((ones - twos).abs() < 0.5).any())),
    ]


def _must(condition: object) -> None:
    if not condition:
        raise AssertionError


_FAST: dict[str, Any] = {"test_right": _test_right, "test_wrong_assertion": _test_wrong_assertion}
_THOROUGH: dict[str, Any] = {
    "test_wrong_assertion": _test_wrong_assertion,
    "TestCase": _TestCase,
    "test_wrong_comparisons": _test_wrong_comparisons,
}
