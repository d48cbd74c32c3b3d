"""Code that only computes is ordinary; code that could reach the judge, forge equality or replace a name is unusual."""

import ast
import textwrap

import pytest

from dlbench.execution.answer_facts import Piece
from dlbench.execution.capabilities import find_unusual
from dlbench.execution.ordinary_names import ModuleFacts

MODULE = ast.parse("""
import numpy as np
import torch
import sys
from torch.nn import functional as F
from .base import helper
class C:
    def g(self):
        self.count = self.state = self.kept = 0
""")
ORDINARY = {
    "numbers": "def f(x, y=2):\n    return [a * y for a in x if a > 0]",
    "torch": "import torch\ndef f(x):\n    x = torch.nn.functional.relu(x)\n    x[0] = 1\n    return F.pad(x, [1]).mean(dim=-1)",
    "a method": "def f(self, x):\n    self.count = self.count + 1\n    self.state['n'] += 1\n    return super().forward(x)",
    "an error": "def f(x):\n    if not isinstance(x, list):\n        raise TypeError(f'{type(x)} is no list')\n    return len(x)",
    "a written attribute": "def f(x):\n    return getattr(x, 'shape', None) if hasattr(x, 'ndim') else x.__class__.__name__",
    "a try": "def f(x):\n    try:\n        return float(x)\n    except (TypeError, ValueError) as error:\n        raise RuntimeError('no') from error",
    "words in texts": "def f(x):\n    '''No __globals__, sys._getframe or pytest.'''\n    raise ValueError('gi_frame')  # unittest",
    "a parameter called input": "def f(input, type=None):\n    return input if type else helper(input)",
    "its kind": "def f(x):\n    return list(x) if type(x) is not dict else x.__class__.__name__",
    "formatting": "def f(x):\n    return '{:.3f} {}'.format(x, 1) + f'{x:.2f}' + '%s' % x",
    "a closure": "def f(x):\n    n = 0\n    def g(y):\n        nonlocal n\n        n += y\n        return n\n    return g(x)",
    "a lazy import": "def f(x):\n    from scipy.spatial.distance import cdist\n    import itertools\n    return cdist(x, x)",
    "a name of a library": "def f(x):\n    act, kind = F.relu, torch.float32\n    return act(x.to(kind))",
    "a class inside": "class H:\n    def __init__(self, n): self.n = n\n    def get(self): return self.n\ndef f(x): return H(x).get()",
    "what the module imports": "def f(x):\n    return sys.maxsize + sys.float_info.eps",
    "the gradient": "def f(x):\n    x.requires_grad_(True)\n    return torch.set_grad_enabled(True)",
    "a decorator of its own": "from functools import wraps\ndef d(g):\n    @wraps(g)\n    def h(x): return g(x)\n    return h\n@d\ndef f(x): return x",
    "what the project defines": "from .other import made\nfrom toy import other\ndef f(x): return made(x) + other.CONSTANT",
}
UNUSUAL = {
    "a class": "class E(list):\n    def __eq__(self, other): return True",
    "a class by hand": "def f(x):\n    return type('E', (list,), {})()",
    "a class by the class of a class": "def f(x):\n    return ().__class__.__class__('E', (list,), {})",
    "a class by the type of a type": "def f(x):\n    return type(list)('E', (list,), {})",
    "a class by a kept type": "def f(x):\n    make = type(list)\n    return make('E', (list,), {})",
    "a class by a metaclass": "import abc\ndef f(x):\n    return abc.ABCMeta('E', (list,), {})",
    "an alias of type": "def f(x):\n    make = type\n    return make('E', (), {})",
    "setattr": "def f(x):\n    setattr(x, 'a', 1)",
    "an attribute of a module": "def f(x):\n    torch.allclose = None",
    "an attribute of a local name": "def f(x):\n    t = x\n    t.allclose = None",
    "a module called self": "import torch.functional as self\ndef f(x):\n    self.norm = None",
    "a helper with a first parameter": "def use(self):\n    self.norm = None\ndef f(x):\n    use(x)",
    "a module as a value": "def f(x):\n    return helper(torch)",
    "a submodule as a value": "def f(x):\n    m = torch.nn.functional\n    return m",
    "an item of a module": "def f(x):\n    np.sctypes['float'] = []",
    "a name that is bound elsewhere": "def g(sys): return sys\ndef f(x): return sys.modules",
    "a builtin that is bound elsewhere": "def g(): eval = 1\ndef f(x): return eval(x)",
    "a builtin in a comprehension": "def f(x):\n    [eval for eval in x]\n    return eval('x')",
    "a computed name": "def f(x, name):\n    return getattr(x, name)",
    "getattr itself": "def f(x):\n    return map(getattr, x)",
    "a strange import": "import gc\ndef f(x): return x",
    "a strange import from": "from unittest import mock\ndef f(x): return x",
    "a private module": "import numpy._core.numeric\ndef f(x): return x",
    "all names": "from numpy import *\ndef f(x): return x",
    "a module through another": "def f(x):\n    return torch.sys",
    "a frame": "import logging\ndef f(x): return logging.currentframe()",
    "an attribute of frames": "def f(x):\n    return x.f_back",
    "an attribute in a pattern": "def f(x):\n    match x:\n        case object(__closure__=c): return c",
    "a dunder": "def f(x):\n    return x.__dict__",
    "a traceback": "def f(x):\n    try: x()\n    except Exception as e: return e.__traceback__",
    "attributes in a format string": "def f(x):\n    return '{0.shape}'.format(x)",
    "a computed format string": "def f(x):\n    return ('{0.' + 'shape}').format(x)",
    "exec": "def f(x):\n    exec(x)",
    "global": "def f(x):\n    global y\n    y = x",
    "masked": "def f(x):\n    return np.ma.masked_all(3)",
    "strides": "def f(x):\n    return np.lib.stride_tricks.as_strided(x)",
    "a freed array": "def f(x):\n    x.resize(3, refcheck=False)",
    "a kernel": "def f(x):\n    return torch.library.Library('aten', 'IMPL')",
    "a mode": "def f(x):\n    torch.no_grad().__enter__()",
    "a setting": "def f(x):\n    torch.set_default_dtype(torch.float16)",
    "a query by keyword": "def f(x):\n    return x.eval(expr='y')",
    "a default": "def f(x):\n    def g(type=type): return type\n    return g()",
    "a decorator": "def f(x):\n    @type\n    def g(type): return type\n    return g",
    "the first iterable": "def f(x):\n    return [type for type in [type]]",
    "an import elsewhere": "def g():\n    from math import pi as type\ndef f(x): return type(x, (), {})",
    "a shadowed exemption": "def f(x):\n    isinstance = lambda a, b: a\n    return isinstance(type(x), 0)",
    "a type of a class": "def f(x):\n    return int.__class__(int)",
    "an enum by a call": "from enum import Enum\ndef f(x):\n    return Enum('A', {'__eq__': 1})",
    "text as annotation": "import inspect\ndef f(x):\n    return inspect.signature(x, eval_str=True)",
    "names written by wraps": "import functools\ndef f(x):\n    functools.wraps(x, assigned=['a'])(x)",
    "a method with another object": "class H:\n    def put(self): self.allclose = None\ndef f(x):\n    H.put(torch.Tensor)",
    "an unknown function": "def f(x):\n    return np.f2py.crackfortran.myeval('1')",
    "below a harmless name": "import os\ndef f(x):\n    return os.path.sys",
    "a masked array by a keyword": "def f(x):\n    return np.genfromtxt(x, usemask=True)",
    "a settable name of a class": "import pandas as pd\ndef f(x):\n    kind = pd.DataFrame\n    kind.data = 1",
    "a mode in a generator": "def f(x):\n    def g():\n        with torch.device('meta'):\n            yield\n    next(g())",
    "a dunder as text": "def f(x):\n    return x.agg('__getattribute__')",
    "a log handler": "import logging\ndef f(x):\n    return logging.getLogger().handlers",
    "a query": "def f(x):\n    return x.eval('@y')",
    "a query by another name": "def f(x):\n    run = x.query\n    return run('@y')",
    "a query by text": "def f(x):\n    return x.agg('eval', '@y')",
    "a chain through a harmless module": "import re\ndef f(x):\n    return re.enum.bltns.print",
    "a class of a module that a harmless one imports": "import uuid\ndef f(x):\n    return uuid.Enum('A', {})",
    "a chain through a listed name": "def f(x):\n    return torch.backends.cudnn.torch.platform",
    "the second name of attrgetter": "from operator import attrgetter\ndef f(x):\n    return attrgetter('real', 'a.__class__')(x)",
    "a keyword in a dictionary": "def f(x):\n    x.resize(3, **{'refcheck': False})",
    "a special keyword": "def f(x):\n    return dict(__array_interface__=x)",
    "an address": "def f(x):\n    return id(x)",
    "a static method": "class H:\n    @staticmethod\n    def put(o): o.norm = None\ndef f(x): return H()",
    "wraps as a function": "import functools\ndef f(x):\n    return functools.wraps(x)(x)",
    "another base by the name of a plain one": "from collections import UserList as Module\nclass H(Module):\n    pass\ndef f(x): return H()",
    "a library through the project": "from toy.other import np as n\ndef f(x): return n.zeros(x)",
    "a module through the project": "from toy import other\ndef f(x): return other.np.f2py",
    "another name of a library in the project": "from toy.other import library\ndef f(x): return library",
    "an importer of the project": "from .other import optional_import\ndef f(x): return optional_import(x)",
    "a gradient of a class": "def f(x):\n    for kind in [torch.Tensor]:\n        kind.grad = x",
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    (root / "toy").mkdir()
    (root / "toy/__init__.py").write_text("")
    (root / "toy/base.py").write_text("def helper(x): return x\n")
    other = "import numpy as np\nfrom .base import helper as made\nlibrary = np\nCONSTANT = 1\ndef optional_import(name): ...\n"
    (root / "toy/other.py").write_text(other)
    return root


def screen(project, code: str, qualname: str = "f") -> set[str]:
    text = "if True:\n" + textwrap.indent(code, "    ") if "." in qualname else code
    return find_unusual(
        [Piece(ast.parse(text), "." in qualname)], ModuleFacts(MODULE, "toy.core", project / "toy/core.py"), qualname
    )


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_code_is_not_unusual(name, project):
    assert screen(project, ORDINARY[name], "C.f" if name == "a method" else "f") == set()


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_code_is_found(name, project):
    assert screen(project, UNUSUAL[name])


def test_attributes_may_be_set_on_the_own_object_of_a_method_only(project):
    code = "def f(self, x):\n    self.kept = x"
    assert screen(project, code, "C.f") == set()
    assert screen(project, code, "f")
    assert screen(project, "def f(self, x):\n    self = x\n    self.kept = x", "C.f")
    assert screen(project, "def f(self, x):\n    def g(self):\n        self.kept = x\n    g(x)", "C.f")
