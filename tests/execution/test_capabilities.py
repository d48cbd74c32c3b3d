"""Code that only computes is ordinary; code that could reach the judge, forge equality or replace a name is unusual."""

import ast
import textwrap

import pytest

from dlbench.execution.answer_facts import Piece
from dlbench.execution.capabilities import find_unusual
from dlbench.execution.ordinary_names import ModuleFacts
from dlbench.execution.unusual_names import is_licensed

MODULE = ast.parse("""
import numpy as np
import torch
import pandas
import sys
TABLE = {}
from torch.nn import functional as F
from .base import helper
from .optional import gd, sp
class C:
    def g(self):
        self.count = self.state = self.eval = 0
        self.kept = type(TABLE)
        self._shown = type(TABLE)
    @property
    def shown(self):
        return self._shown
class D(C):
    pass
""")
ORDINARY = {
    "numbers": "def f(x, y=2):\n    return [a * y for a in x if a > 0]",
    "torch": "import torch\ndef f(x):\n    x = torch.nn.functional.relu(x)\n    x[0] = 1\n    return F.pad(x, [1]).mean(dim=-1)",
    "a method": "def f(self, x):\n    self.count = self.count + 1\n    self.state['n'] += 1\n    return super().forward(x)",
    "results that its class keeps under the name eval": "def f(self, x):\n    return self.eval['precision']",
    "a kept template": "def f(x):\n    text = '{} of {:.2f}'\n    return text.format(x, 1)",
    "names from a list": "def f(x):\n    return [getattr(x, n, None) for n in ('shape', 'ndim')]",
    "names from a list in a loop": "def f(x):\n    for n in ['shape', 'ndim']:\n        if hasattr(x, n): return getattr(x, n)",
    "a type that its class keeps": "def f(self, x):\n    self.kept = type(x) if x is not None else None",
    "names from a list under a name": "def f(x):\n    names = ['shape', 'ndim']\n    for n in names: getattr(x, n)",
    "a library that the project may lack": "def f(x): return sp.eye(x)",
    "super with arguments": "def f(self, x):\n    super(D, self).__init__()\n    self.count = x",
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
    "an object of an own class": "class H:\n    def __init__(self, n): self.oddness = n\n    def measure(self): return self.oddness\ndef f(x):\n    h = H(x)\n    return h.measure() + h.oddness",
    "values in loops": "def f(x):\n    for fn in (np.mean, np.std, torch.sum):\n        x = fn(x)\n    return x",
    "a named tuple": "from collections import namedtuple\ndef f(x):\n    P = namedtuple('P', ['a', 'b'])\n    return P(1, 2)",
    "a dataclass": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    width: int = 1\ndef f(x): return P(2).width",
    "an enumeration": "from enum import Enum\nclass E(Enum):\n    A = 1\ndef f(x, kind: Enum): return isinstance(x, Enum) or E.A.value",
    "a signature": "import inspect\ndef f(x): return len(inspect.signature(x).parameters)",
    "a table of the project in a function of the answer": "def g(found, x):\n    x = list(x)\n    x[0] = 1 + found.get('a')\n    return x\n\ndef f(x): return g(x, g(TABLE, x))",
    "a table of the project": "from .other import CONSTANT\ndef f(x):\n    found = dict(CONSTANT)\n    found['a'] = len(TABLE)\n    found.update(b=1)\n    return found",
    "a missing library": "def f(x):\n    try:\n        import scipy\n    except ImportError:\n        scipy = None\n    return scipy.special.expit(x)",
    "a module of the project called types": "from .types import Floats\ndef f(x): return isinstance(x, Floats)",
    "own columns": "import pandas as pd\ndef f(x):\n    return x.agg(['mean', 'std']) + x.apply(lambda r: r.sum())",
    "a table that is made while the module is imported": "def g(n): return [1 << i for i in range(n)]\nMADE = g(9)\ndef f(x): return x in MADE",
    "a default that is made later": "from dataclasses import dataclass, field\n@dataclass\nclass P:\n    sizes: list = field(default_factory=lambda: [*TABLE])\ndef f(x): return P().sizes",
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
    "a method with another object under another name": "class H:\n    def put(self): self.size = 1\n    also = put\ndef f(x): H.also(x)",
    "a method that the body of its class calls": "class H:\n    def put(self): self.size = 1\n    done = put(TABLE)\ndef f(x): return H",
    "another object under the name of the own one": "class H:\n    def put(self, x):\n        def swap():\n            nonlocal self\n            self = x\n        swap()\n        self.size = 1\ndef f(x): H().put(x)",
    "a function of the project at import": "from .base import helper\nDONE = helper(1)\ndef f(x): return DONE",
    "a function of the project as a default": "from .base import helper\ndef f(x, done=helper(1)): return x",
    "a function for objects of the project at import": "DONE = [*map(lambda one: one, [TABLE])]\ndef f(x): return DONE",
    "a table given to a function at import": "MADE = list(map(dict.update, [TABLE], [{1: 2}]))\ndef f(x): return MADE",
    "what a generator does when it dies": "def f(x):\n    try:\n        yield x\n    finally:\n        g(x)",
    "the state of random": "import random\ndef f(x): random.setstate(x)",
    "a decorator for objects of the project": "def g(made):\n    h(TABLE)\n    return made\n\n@g\ndef f(x): return x",
    "settings of all code": "from decimal import Context, setcontext\ndef f(x): setcontext(Context(prec=1))",
    "an unknown function": "def f(x):\n    return np.f2py.crackfortran.myeval('1')",
    "below a harmless name": "import os\ndef f(x):\n    return os.path.sys",
    "a masked array by a keyword": "def f(x):\n    return np.genfromtxt(x, usemask=True)",
    "a settable name of a class": "import pandas as pd\ndef f(x):\n    kind = pd.DataFrame\n    kind.data = 1",
    "a mode in a generator": "def f(x):\n    def g():\n        with torch.device('meta'):\n            yield\n    next(g())",
    "a dunder as text": "def f(x):\n    return x.agg('__getattribute__')",
    "a log handler": "import logging\ndef f(x):\n    return logging.getLogger().handlers",
    "results under the name eval of another object": "def f(self, x):\n    return x.eval['precision']",
    "a kept template that reads attributes": "def f(x):\n    text = '{0.shape}'\n    return text.format(x)",
    "a kept template that is changed": "def f(x):\n    text = '{0'\n    text += '.shape}'\n    return text.format(x)",
    "a template of two meanings": "def f(x):\n    text = '{0}'\n    def g(text): return text.format(x)\n    return g",
    "an unlisted name from a list": "def f(x):\n    return [getattr(x, n, None) for n in ('shape', 'f_back')]",
    "names from a computed list": "def f(x):\n    return [getattr(x, n, None) for n in ('shape', 'f_' + 'back')]",
    "names from a list that a caller gives": "def f(x, names):\n    for n in ('shape', *names): getattr(x, n)",
    "a name from a list and from elsewhere": "def f(x):\n    for n in ('shape',): pass\n    n = x.name\n    getattr(x, n)",
    "a kept type that is called": "def f(self, x):\n    self.kept = type(list)\n    return self.kept('E', (list,), {})",
    "a kept type that is read by its name": "def f(self, x):\n    self.kept = type(list)\n    return getattr(self, 'kept')('E', (list,), {})",
    "a kept type that a pattern reads": "def f(self, x):\n    self.kept = type(list)\n    match self:\n        case object(kept=make):\n            return make('E', (list,), {})",
    "a kept type that a property shows": "def f(self, x):\n    self._shown = type(list)\n    return self.shown('E', (list,), {})",
    "a type where its class keeps none": "def f(self, x):\n    self.count = type(x)",
    "a kept type of another object": "def f(x):\n    x.kept = type(list)",
    "a kept type under a new name": "def f(self, x):\n    self.newer = type(list)",
    "names from a list that is changed": "def f(x):\n    names = ['shape']\n    names.append('f_back')\n    for n in names: getattr(x, n)",
    "names from a list that is passed on": "def f(x):\n    names = ['shape']\n    helper(names)\n    for n in names: getattr(x, n)",
    "names from a list of two meanings": "def f(x, names):\n    def g(): names = ['shape']\n    for n in names: getattr(x, n)",
    "an unlisted name of a library that the project may lack": "def f(x): return sp.f2py",
    "a library or another that the project may lack": "def f(x): return gd.zeros(x)",
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
    "a builtin that a class body reads": "def f(x):\n    eval = None\n    class Box:\n        eval: int\n        made = eval(x)\n    return Box.made",
    "a builtin after a walrus in a default": "class H:\n    def put(self, x=(type := 1)): return type(x)\ndef f(x): return H().put()",
    "a builtin after an exception": "try:\n    pass\nexcept ValueError as eval:\n    pass\ndef f(x): return eval(x)",
    "a builtin called like a method of the class": "def eval(self): pass\ndef f(self, x): return eval(x)",
    "a name of the module": "[np := x for x in ()]\ndef f(x): return np",
    "a deleted name of the module": "if False:\n    del np\ndef f(x): return x",
    "a special name that is bound": "if False:\n    __builtins__ = {}\ndef f(x): return __builtins__",
    "a special name as a parameter": "def f(x, __loader__=None): return x",
    "a special name of an import": "import math as __loader__\ndef f(x): return x",
    "a library or a value": "def f(x):\n    import math as m\n    m = x\n    return m.pi",
    "a private attribute": "def f(x): return x._buffers",
    "a private attribute of a library's class": "import enum\ndef f(x):\n    for kind in (enum.Enum,):\n        return kind._create_('A', x)",
    "a class that makes classes": "from enum import Enum\ndef f(x):\n    return [Enum][0]('A', x)",
    "an own class that makes classes": "from enum import Enum\nclass E(Enum):\n    pass\ndef f(x): return [E][0]('A', x)",
    "an unknown attribute of a value": "def f(x):\n    for value in (np.random.default_rng,):\n        return value().bit_generator.cffi",
    "an attribute that only another class has": "class H:\n    def callHandlers(self): pass\ndef f(x): return x.callHandlers",
    "the array below an array": "def f(x): return x.base",
    "an object that is made again": "def f(x): torch.nn.Module.__init__(x)",
    "an object without its class": "def f(x): return x.__new__(x)",
    "a typed dictionary by a call": "from typing import TypedDict\ndef f(x): return TypedDict('A', x)",
    "a named tuple by a call": "from typing import NamedTuple\ndef f(x): return NamedTuple('A', x)",
    "a named tuple of computed fields": "from collections import namedtuple\ndef f(x): return namedtuple('A', x)",
    "a decorator as a function": "from dataclasses import dataclass\ndef f(x): return dataclass(x)",
    "fields of a log record": "import logging\ndef f(x): logging.info('a', extra={'name': x})",
    "a bound method's object": "def f(x): return np.random.random.__self__",
    "a wrapped function": "def f(x): return x.__wrapped__",
    "a table of the project that is changed": "def f(x): TABLE.update(x)",
    "an item of a table of the project": "def f(x): TABLE['a'].append(x)",
    "a table of the project by another name": "def f(x):\n    found = TABLE\n    found.clear()",
    "a table of the project in a loop": "def f(x):\n    for one in (TABLE, x):\n        one.pop('a')",
    "a table of the project as a default": "def f(x, found=TABLE): found.setdefault('a', x)",
    "a table of the project in a list": "def f(x): [TABLE][0]['a'] = x",
    "a table of the project from a lambda": "def f(x): (lambda: TABLE)()['a'] = x",
    "a table of the project as an argument": "def g(found):\n    found['a'] = 1\n\ndef f(x): g(TABLE)",
    "a table of the project among arguments": "def g(*found):\n    for one in found:\n        one.clear()\n\ndef f(x): g(TABLE)",
    "a table of the project as a result": "def g():\n    return TABLE\n\ndef f(x):\n    found = g()\n    found.clear()",
    "a method of a table of the project": "def f(x):\n    change = TABLE.update\n    change(x)",
    "a table of the project and a method of its class": "def f(x): dict.update(TABLE, x)",
    "bytes that are written": "import struct\ndef f(x): struct.pack_into('<q', x, 0, 1)",
    "memory of another type": "def f(x): return x.data.cast('B')",
    "an array of the project that is written": "from .other import CONSTANT\ndef f(x): np.add(x, 1, out=CONSTANT)",
    "an array of the project that is copied to": "from .other import CONSTANT\ndef f(x): np.copyto(CONSTANT, x)",
    "an array on memory": "def f(x): return np.ndarray((3,), buffer=x)",
    "an address by hash": "def f(x): return hash(x) << 4",
    "a sparse tensor": "def f(x): return torch.sparse_coo_tensor(x, x)",
    "a sparse matrix": "from scipy.sparse import csr_matrix\ndef f(x): return csr_matrix(x)",
    "indices of a sparse matrix": "from scipy import sparse\ndef f(x):\n    i = sparse.eye(3).indices\n    i[0] = 9",
    "a library whose objects take attributes from texts": "import sklearn.utils\ndef f(x): return sklearn.utils.Tags(x)",
    "computed keywords": "def f(x): return x.sum(**{'a' + 'b': 1})",
    "a method by a computed name": "def f(x):\n    name = 'me' + 'an'\n    return x.agg(name)",
    "an evaluated signature": "import inspect\ndef f(x): return inspect.signature(x, **x)",
    "a gradient of a class": "def f(x):\n    for kind in [torch.Tensor]:\n        kind.grad = x",
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    (root / "toy").mkdir()
    (root / "toy/__init__.py").write_text("")
    (root / "toy/base.py").write_text("def helper(x): return x\n")
    optional = "try:\n    import numpy as sp\n    import numpy as gd\nexcept ImportError:\n    sp = None\n    import scipy as gd\n"
    (root / "toy/optional.py").write_text(optional)
    (root / "toy/types.py").write_text("class Floats: ...\n")
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
    assert screen(project, ORDINARY[name], "C.f" if "(self" in ORDINARY[name].partition("\n")[0] else "f") == set()


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_code_is_found(name, project):
    code = UNUSUAL[name]
    is_method = code.startswith("def f(self") or name == "a builtin called like a method of the class"
    assert screen(project, code, "C.f" if is_method else "f")


def test_members_that_replace_what_a_class_inherits_are_unusual(project):
    """A test may compare objects of the class, or call what the answer brought along in place of an inherited method."""
    target = "def f(self):\n    return self.extra_step()\n"
    assert screen(project, target + "def extra_step(self): return 1", "C.f") == set()
    assert screen(project, target + "def __eq__(self, other): return True", "C.f")
    assert screen(project, target + "@property\ndef extra_step(self): return 1", "C.f")
    assert screen(project, target + "def extra_step(self): return 1", "D.f")


def test_the_own_class_makes_objects_only_where_the_first_parameter_is_the_object(project):
    make = "def f(self, x):\n    return type(self)('E', (list,), {})"
    assert screen(project, make, "C.f") == set()
    assert screen(project, f"@classmethod\n{make.replace('self', 'cls')}", "C.f")
    assert screen(project, f"@staticmethod\n{make}", "C.f")


def test_attribute_that_the_reference_sets_is_not_licensed_where_a_class_is_a_value(project):
    """Set on a class of a library, it would change every object."""
    assert screen(project, "def f(x):\n    x.columns = 1") == {".columns = ..."}
    found = screen(project, "import pandas as pd\ndef f(x):\n    for kind in [pd.DataFrame]:\n        kind.columns = 1")
    assert not all(is_licensed(word) for word in found)


def test_arrays_of_files_are_licensed_without_pickles_only(project):
    (word,) = screen(project, "def f(x): return np.load(x, allow_pickle=False)")
    assert is_licensed(word)
    for code in ("np.load(x)", "np.load(x, allow_pickle=True)", "np.load(x, 'r', allow_pickle=False)", "np.load"):
        assert not all(map(is_licensed, screen(project, f"def f(x): return {code}"))), code


@pytest.mark.parametrize("word", ["blosc2.NDArray", "import cc3d.statistics", ".columns = ..."])
def test_reference_licenses_names_of_libraries_and_kept_attributes(word):
    assert is_licensed(word)


@pytest.mark.parametrize(
    "word", ["type", ".format", "getattr", ".__func__", "class Box", "torch.load", "numpy.random.random.__self__"]
)
def test_reference_licenses_nothing_that_does_other_things_in_other_hands(word):
    assert not is_licensed(word)


def test_attributes_may_be_set_on_the_own_object_of_a_method_only(project):
    code = "def f(self, x):\n    self.kept = x"
    assert screen(project, code, "C.f") == set()
    assert screen(project, code, "f")
    assert screen(project, "def f(self, x):\n    self = x\n    self.kept = x", "C.f")
    assert screen(project, "def f(self, x):\n    def g(self):\n        self.kept = x\n    g(x)", "C.f")
