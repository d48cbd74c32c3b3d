"""Mutants are valid code, all different, and each differs from the reference in one place."""

import ast
import difflib

from dlbench.execution.mutants import write_mutants

REFERENCE = ast.parse(
    '''def f(x, y=1, *, flag=True):
    """Words that stay."""
    total = 0
    for value in x:
        if value > y and flag:
            total += value * 2
        else:
            total -= 1
    if total is None:
        raise ValueError("no")
    print(total)
    return total / len(x)
'''
).body[0]


def test_mutants_are_valid_different_and_small():
    assert isinstance(REFERENCE, ast.FunctionDef)
    mutants = write_mutants(REFERENCE, 100)
    codes = [code for _, code in mutants]
    assert len(set(codes)) == len(codes) >= 12
    original = ast.unparse(REFERENCE).splitlines()
    for name, code in mutants:
        compile(code, name, "exec")
        changed = [line for line in difflib.ndiff(original, code.splitlines()) if line[:1] in "+-"]
        assert 0 < len(changed) <= 2, (name, changed)
        assert "Words that stay." in code
        assert code.startswith("def f(x, y=1, *, flag=True):")


def test_the_same_mutants_every_time_and_no_more_than_asked():
    assert isinstance(REFERENCE, ast.FunctionDef)
    assert write_mutants(REFERENCE, 5) == write_mutants(REFERENCE, 5)
    assert len(write_mutants(REFERENCE, 5)) == 5
