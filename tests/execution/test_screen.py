"""Code that only computes is not watched; code that could forge equality or replace a name is."""

import ast

import pytest

from dlbench.execution.risk_screen import find_forbidden, needs_watching

PLAIN = {
    "numbers": "def f(x, y=2):\n    return [a * y for a in x if a > 0]",
    "torch": "import torch\ndef f(x):\n    x = torch.nn.functional.relu(x)\n    x[0] = 1\n    return x.mean(dim=-1)",
    "a method": "def forward(self, x):\n    self.count = self.count + 1\n    return super().forward(x)",
    "an error": "def f(x):\n    if not isinstance(x, list):\n        raise TypeError(f'{type(x)} is no list')\n    return len(x)",
    "a written attribute": "def f(x):\n    return getattr(x, 'shape', None) if hasattr(x, 'ndim') else x.__class__.__name__",
    "a try": "def f(x):\n    try:\n        return float(x)\n    except (TypeError, ValueError) as error:\n        raise RuntimeError('no') from error",
}
UNUSUAL = {
    "a class": "class E(list):\n    def __eq__(self, other): return True",
    "a class by hand": "def f(x):\n    return type('E', (list,), {})()",
    "an alias of type": "def f(x):\n    make = type\n    return make('E', (), {})",
    "setattr": "def f(x):\n    setattr(x, 'a', 1)",
    "an attribute of a module": "import torch\ndef f(x):\n    torch.allclose = None",
    "an attribute of an alias": "def f(x):\n    t = x\n    t.allclose = None",
    "a computed name": "def f(x, name):\n    return getattr(x, name)",
    "getattr itself": "def f(x):\n    return map(getattr, x)",
    "a strange import": "import gc\ndef f(x): return x",
    "a strange import from": "from unittest import mock\ndef f(x): return x",
    "a module through another": "def f(x):\n    return x.sys.exit",
    "a dunder": "def f(x):\n    return x.__dict__",
    "a dunder in a text": "def f(x):\n    return x.get('__' + 'dict__')",
    "exec": "def f(x):\n    exec(x)",
    "global": "def f(x):\n    global y\n    y = x",
    "masked": "import numpy as np\ndef f(x):\n    return np.ma.masked_all(3)",
    "strides": "import numpy as np\ndef f(x):\n    return np.lib.stride_tricks.as_strided(x)",
}
FORBIDDEN = {
    "import sys\ndef f(x): return sys._getframe(1)": "_getframe",
    "def f(x): return x.__globals__": "__globals__",
    "def f(x): return getattr(x, '__clo' '_sure__') or '__closure__'": "__closure__",
    "import _pytest.runner as r\ndef f(x): return r": "_pytest.runner",
    "from _pytest import runner\ndef f(x): return runner": "_pytest",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_code_is_not_watched(name):
    tree = ast.parse(PLAIN[name])
    assert not needs_watching(tree)
    assert find_forbidden(tree) == []


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_code_is_watched_but_not_rejected(name):
    tree = ast.parse(UNUSUAL[name])
    assert needs_watching(tree)
    assert find_forbidden(tree) == []


@pytest.mark.parametrize("code", FORBIDDEN)
def test_names_that_lead_to_the_judge_are_found(code):
    assert FORBIDDEN[code] in find_forbidden(ast.parse(code))


def test_ordinary_names_are_not_taken_for_frame_attributes():
    code = "def f(f_back, f_locals):\n    return f_back.get_objects(f_locals)"
    assert find_forbidden(ast.parse(code)) == []
