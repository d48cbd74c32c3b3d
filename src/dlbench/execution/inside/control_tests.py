"""Control tests: small tests with known outcomes that detect a judge which no longer tells right from wrong.

The same machinery runs them before and after the instance's tests. Some must pass and some must fail. A candidate that
makes every test pass, or every comparison succeed, makes these pass too.
"""

import random
import sys
import types
import unittest
from collections.abc import Callable
from typing import Any

import pytest

from .pytest_runner import ControlTests


def build_control_tests(session: pytest.Session) -> ControlTests:
    # one draw for both: tests of the same name would overwrite each other's outcome
    words = random.SystemRandom().sample(_WORDS, len(_FAST) + len(THOROUGH))
    before, after = _collect(session, _FAST, words[: len(_FAST)]), _collect(session, THOROUGH, words[len(_FAST) :])
    return before, after


def _collect(session: pytest.Session, tests: dict[str, Any], words: list[str]) -> list[pytest.Item]:
    """The items, under names that do not tell them from other tests."""
    chosen = random.SystemRandom()
    module = types.ModuleType(f"test_{chosen.choice(_WORDS)}_{chosen.choice(_WORDS)}")
    named = {
        f"{'Test' if isinstance(test, type) else 'test_'}{word}": key
        for word, (key, test) in zip(words, tests.items(), strict=True)
    }
    module.__dict__.update({name: tests[key] for name, key in named.items()})

    class ControlModule(pytest.Module):
        def _getobj(self) -> types.ModuleType:
            return module

    node = ControlModule.from_parent(session, path=session.path / f"{module.__name__}.py")
    items = list(session.genitems(node))
    for item in items:  # the reason of a failure is not read
        item.repr_failure = lambda excinfo, style=None: "as expected"  # type: ignore[method-assign]
    return items


_WORDS = (
    "forward", "shape", "loss", "values", "batch", "dtype", "output", "mask", "labels", "weights", "scores", "padding",
)  # fmt: skip


def _test_right() -> None:
    assert [1, 2.5, "x"] == [1, 2.5, "x"]
    with pytest.raises(ZeroDivisionError):
        1 / 0  # noqa: B018


def _test_wrong_assertion() -> None:
    left, right = [1, 2], [1, 3]
    assert left == right


class _TestCase(unittest.TestCase):
    def test_equal(self) -> None:
        self.assertEqual(1, 2)


def _test_wrong_comparisons() -> None:
    """Fails, as expected, only if every comparison still tells one from two."""
    case = _TestCase("test_equal")
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    checks: list[Callable[[], object]] = [
        lambda: pytest.raises(ValueError, int),
        lambda: _assert(pytest.approx(2.0) == 1.0),
        lambda: _assert(abs(1.0 - 1.5) <= 0.1),
        lambda: _assert(all([True, 0]) or any([False, ""])),
        lambda: _assert(isinstance(1, str) or len([1]) != 1 or not {1} < {1, 2}),
        lambda: case.assertTrue(False),
        lambda: case.assertEqual(1, 2),
        lambda: case.assertAlmostEqual(1.0, 2.0),
        lambda: case.assertRaises(ValueError, int),
        *(_numpy_checks(numpy) if numpy is not None else []),
        *(_torch_checks(torch) if hasattr(torch, "testing") else []),
    ]
    for check in checks:
        try:
            check()
        except (AssertionError, pytest.fail.Exception):
            continue
        return
    raise AssertionError("every comparison works")


def _numpy_checks(numpy: Any) -> list[Callable[[], object]]:  # noqa: ANN401 - the module
    chosen = random.SystemRandom()
    shape = [chosen.randint(1, 6) for _ in range(chosen.randint(1, 3))]
    dtype = chosen.choice(["float32", "float64", "int64"])
    ones = numpy.asarray(numpy.random.default_rng().integers(0, 9, shape), dtype)
    twos = ones + chosen.randint(1, 5)
    return [
        lambda: numpy.testing.assert_allclose(ones, twos),
        lambda: numpy.testing.assert_array_equal(ones, twos),
        lambda: numpy.testing.assert_almost_equal(1.0, 2.0),
        lambda: _assert(numpy.allclose(ones, twos)),
        lambda: _assert((ones == twos).all()),
    ]


def _torch_checks(torch: Any) -> list[Callable[[], object]]:  # noqa: ANN401 - the module
    chosen = random.SystemRandom()
    shape = [chosen.randint(1, 6) for _ in range(chosen.randint(1, 3))]
    ones = torch.full(shape, float(chosen.randint(0, 9)), dtype=chosen.choice([torch.float32, torch.float64]))
    twos = ones + chosen.randint(1, 5)
    return [
        lambda: torch.testing.assert_close(ones, twos),
        lambda: _assert(torch.allclose(ones, twos)),
        lambda: _assert(torch.equal(ones, twos)),
        lambda: _assert(bool(torch.isclose(ones, twos).any())),
        lambda: _assert(bool((ones == twos).any())),
        lambda: _assert(bool(((ones - twos).abs() < 0.5).any())),
    ]


def _assert(condition: object) -> None:
    if not condition:
        raise AssertionError


# in the order of the outcomes that the engine expects (CONTROL_BEFORE, CONTROL_AFTER)
_FAST: dict[str, Any] = {"test_right": _test_right, "test_wrong_assertion": _test_wrong_assertion}
THOROUGH: dict[str, Any] = {"test_wrong_assertion": _test_wrong_assertion, "wrong_case": _TestCase}
THOROUGH |= {"test_wrong_comparisons": _test_wrong_comparisons}
