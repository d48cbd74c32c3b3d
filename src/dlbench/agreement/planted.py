"""Does the whole pipeline pick right solutions, where it is known which are right?

Real functions, without a model: solutions are the reference (a few copies that differ in a line that does nothing) and
mutants of it, in a known mix; checks are made from half of the project's own tests, cut out to stand alone as a model's
are, and wrong ones are planted among them in a known share. Two kinds of wrong: a number in a check is changed, so that
it expects what nobody does; or the check is turned round, so that it passes on just those solutions that err there,
which is how errors of solutions and tests go together. Whether a solution is right is the judge's verdict on all of the
instance's tests; and, so that no choice is judged by what it was made with, its outcomes on the other half alone.
"""

import ast
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random

from dlbench.agreement.model_tests import Check, make_check, read_tests
from dlbench.agreement.solutions import Solution, make_solution
from dlbench.dataset import Instance
from dlbench.dataset.records import strip_case
from dlbench.dataset.target import Function
from dlbench.execution.engine import Engine
from dlbench.parsing import parse
from dlbench.validation.mutants import write_mutants
from dlbench.workspace import Prepared

_TRIES = 20
_SPARE = 3
"""More than are wanted, since some break wherever they run."""


@dataclass(frozen=True)
class Mix:
    """`wrong`: the share of planted checks; `turned`: the share of those that are turned round."""

    solutions: int = 8
    right: int = 2
    checks: int = 10
    wrong: float = 0.4
    turned: float = 0.5
    seed: int = 0


@dataclass(frozen=True)
class Material:
    """What checks can be made of, before the reference has met them: it passes the true ones and fails the planted."""

    true: tuple[Check, ...]
    altered: tuple[Check, ...]
    turned: tuple[Check, ...]

    @property
    def checks(self) -> list[Check]:
        return list({check.id: check for check in (*self.true, *self.altered, *self.turned)}.values())

    def keep(self, ids: Collection[str]) -> "Material":
        """Without those that are neither true nor false, since they break wherever they run."""
        parts = (self.true, self.altered, self.turned)
        return Material(*(tuple(check for check in part if check.id in ids) for part in parts))


def make_solutions(engine: Engine, prepared: Prepared, instance: Instance, mix: Mix) -> list[Solution]:
    """In an order drawn by the seed; fewer where the reference has fewer mutants."""
    node = engine.asked(prepared, instance).target.node
    codes = [write_copy(node, number) for number in range(mix.right)]
    codes += [code for _, code in write_mutants(node, mix.solutions - mix.right, mix.seed)]
    Random(f"{mix.seed} {instance.id}").shuffle(codes)
    return [make_solution(code) for code in codes]


def write_copy(node: Function, number: int) -> str:
    """The function with a line in front that does nothing."""
    twin = parse(ast.unparse(node)).body[0]
    assert isinstance(twin, Function)
    twin.decorator_list = []
    at = 1 if ast.get_docstring(twin) is not None else 0
    twin.body.insert(at, parse(f"_copy = {number}").body[0])
    return ast.unparse(ast.fix_missing_locations(twin)) + "\n"


def gather_material(prepared: Prepared, instance: Instance, mix: Mix) -> Material:
    """From half of the instance's tests."""
    chance = Random(f"{mix.seed} {instance.id}")
    half = _draw_half(instance, chance)
    found: list[Check] = []
    for file in instance.test_files:
        names = {test.partition("::")[2].replace("::", ".") for test in half if test.startswith(f"{file}::")}
        found += read_tests((prepared.tree / file).read_text(encoding="utf-8"), names).checks
    chance.shuffle(found)
    true = tuple(found[: mix.checks + _SPARE])
    some = true[: round(mix.wrong * mix.checks) + _SPARE]
    altered = [alter(check, Random(f"{mix.seed} {check.id}")) for check in some]
    turned = [turn_round(check) for check in some]
    return Material(true, tuple(filter(None, altered)), tuple(filter(None, turned)))


def find_held_out(instance: Instance, mix: Mix) -> list[str]:
    """The tests of the other half, which no check is made of; none where all cases are of one function."""
    half = set(_draw_half(instance, Random(f"{mix.seed} {instance.id}")))
    return [test for test in instance.tests if strip_case(test) not in half]


def _draw_half(instance: Instance, chance: Random) -> list[str]:
    """Whole test functions, so that no parametrisation is on both sides."""
    functions = list(dict.fromkeys(strip_case(test) for test in instance.tests))
    chance.shuffle(functions)
    return functions[: (len(functions) + 1) // 2]


def choose_checks(material: Material, passed: Sequence[str], mix: Mix, key: str) -> list[Check]:
    """A known mix of those that the reference passes and those that it fails; `passed`: the ids of the former."""
    chance, held = Random(f"{mix.seed} {key}"), set(passed)
    true = [check for check in material.true if check.id in held]
    sources = [[check for check in part if check.id not in held] for part in (material.turned, material.altered)]
    wanted = min(mix.checks, round(len(true) / (1 - mix.wrong)) if mix.wrong < 1 else mix.checks)
    planted: list[Check] = []
    wrong = round(mix.wrong * wanted)
    for place in range(wrong):
        first = 0 if place < mix.turned * wrong else 1
        source = sources[first] or sources[1 - first]
        if source:
            planted.append(source.pop(chance.randrange(len(source))))
    chosen = [*true[: wanted - len(planted)], *planted]
    chance.shuffle(chosen)
    return chosen


def alter(check: Check, chance: Random) -> Check | None:
    """With one number of the test itself changed; None where it has none."""
    for _ in range(_TRIES):
        tree = parse(check.code)
        numbers = [
            node for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) in (int, float)
        ]
        if not numbers:
            return None
        node = chance.choice(numbers)
        assert isinstance(node.value, int | float)
        node.value += chance.choice([1, -1, 2, 10])
        changed = make_check(tree.body)
        if changed is not None and changed.id != check.id:
            return changed
    return None


def turn_round(check: Check) -> Check | None:
    """Passes where an assertion of the check fails, and only there."""
    text = f"try:\n{textwrap.indent(check.code, '    ')}except AssertionError:\n    pass\n"
    text += "else:\n    raise AssertionError('it holds')\n"
    try:
        return make_check(parse(text).body)
    except SyntaxError:
        return None
