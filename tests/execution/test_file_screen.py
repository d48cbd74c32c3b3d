"""The screen of answers of many files names what leads to the judge, and lets through what libraries do."""

import pytest

from dlbench.execution.file_screen import screen_files

BAD = """
import gc
import ctypes as c
from unittest import mock
import pytest
import threading
import sys; sys.modules['x'] = None
import sys; sys.meta_path.append(1)
import sys; sys._getframe()
from sys import settrace
import numpy as np; np.allclose = None
import numpy as np; x = np; x.allclose = None
import numpy as np; np.__dict__.update(allclose=None)
import numpy as np; vars(np)
import numpy as np; setattr(np, 'allclose', None)
import torch; type.__setattr__(torch.Tensor, 'x', 1)
import torch; torch.Tensor.__eq__ = None
import torch; T = torch.Tensor; T.add = None
import torch; torch.library.impl('aten::allclose', 'CPU')
import torch; torch.load('x')
import torch; torch.set_default_dtype(torch.float16)
import numpy as np; np.testing.assert_allclose
import numpy as np; np.ma.masked
import numpy as np; np.sys.modules
import numpy as np; np.load('x', allow_pickle=True)
import numpy as np; [patch(one) for one in (np,)]
import dataclasses; dataclasses.sys
import importlib; importlib.import_module('gc')
from importlib.metadata import EntryPoint
from importlib import util
import inspect; inspect.currentframe()
import os; os._exit(0)
import os; os.write(5, b'x')
import typing; typing.get_type_hints(f)
import types; types.FunctionType(a, b)
exec('x')
f = eval
globals()['x'] = 1
open('/tmp/x')
print(__builtins__)
'x'.__class__.__mro__
[].__class__.__base__.__subclasses__()
print.__self__
f.__globals__
error.__traceback__.tb_frame
getattr(f, '__globals__')
getattr(f, '__glo' + 'bals__')
getattr(f, ''.join(parts))
import operator; operator.attrgetter('__code__')
import operator; operator.attrgetter('__co' + 'de__')
table.query('@x')
type('X', (), {})
p = '/proc/self/mem'
from toy.tests import helper
import tests.test_core
from math import *
import _thread
"""
BAD_BLOCKS = (
    "class A:\n    def __eq__(self, other):\n        return True\n",
    "class A:\n    __eq__ = lambda self, other: True\n",
    "class A(np.ndarray):\n    def __array_ufunc__(self, *a, **k): pass\n",
    "class A(metaclass=M): pass\n",
    "class A:\n    @property\n    def __class__(self): return int\n",
    "match f:\n    case object(__globals__=found): pass\n",
    "def f(x: \"__import__('gc')\"): pass\n",
    "async def f():\n    import gc\n",
)
HONEST = """
import sys; sys.version_info >= (3, 11)
import sys; print(1, file=sys.stderr)
import os; os.path.join('a', os.environ.get('B', ''))
import inspect; inspect.signature(f).parameters; inspect.unwrap(f)
import logging; logging.getLogger(__name__).warning('x')
from importlib.metadata import version
import importlib.metadata; importlib.metadata.version('x')
import warnings; warnings.warn('x', stacklevel=2)
import numpy as np; np.linalg.norm(x); np.random.default_rng(0)
import scipy.signal; scipy.signal.convolve(a, b)
import torch; torch.nn.functional.relu(x); torch.trace(x)
import torch.nn as nn; getattr(nn, name)()
import torch; getattr(torch, 'float32')
import torch; torch.manual_seed(0); torch.jit.script(f)
import numpy as np; isinstance(x, np.ndarray)
import numpy as np; x = np.zeros(3); x[0] = 1; x.shape = (3, 1)
from toy import core; core.FLAG = True
from .core import scale
import json; json.load(f); json.loads(s)
from pathlib import Path; Path(__file__).read_text()
setattr(self, name, value)
getattr(self, f'_{name}')
getattr(self, '_' + name)
self.__dict__.update(values)
self.__class__.__name__
type(self)(1)
model.eval()
super().__setattr__(name, value)
object.__setattr__(self, 'x', 1)
vars(self)
import functools; functools.partial(f, 1)
import copy; copy.deepcopy(x)
from dataclasses import dataclass, field, replace
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol
import itertools, math, re, random, collections, enum, contextlib, operator; operator.attrgetter('name')
def f(open, compile=None): return open(compile)
def f(): raise ValueError('cannot compile the graph: eval mode')
def f(): raise ValueError('no training data. Call .eval() for prior predictions')
"""
HONEST_BLOCKS = (
    "from abc import ABCMeta\nclass A(metaclass=ABCMeta): pass\n",
    "class A:\n    def __call__(self): pass\n    def __getattr__(self, name): return 1\n    def __hash__(self): return 1\n",
    "class A:\n    def __add__(self, other): return 1\n    def __len__(self): return 1\n    def __repr__(self): return ''\n",
    '"""Uses frames: f_back and __globals__ and exec()."""\ndef f():\n    """eval(x)"""\n',
    "from enum import Enum\nclass A(Enum):\n    X = 1\n",
)


def list_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize("code", [*list_lines(BAD), *BAD_BLOCKS])
def test_what_leads_to_the_judge_is_named_with_its_place(code: str) -> None:
    found = screen_files({"toy/x.py": code.encode()}, {}, {"toy"})
    assert found
    assert all(one.startswith("toy/x.py:") for one in found)


@pytest.mark.parametrize("code", [*list_lines(HONEST), *HONEST_BLOCKS])
def test_what_libraries_do_is_not_named(code: str) -> None:
    assert screen_files({"toy/x.py": code.encode()}, {}, {"toy"}) == []


@pytest.mark.parametrize("code", ["import gc", "import sys; sys.modules", "exec('x')", BAD_BLOCKS[2]])
def test_what_the_release_does_an_answer_may_do_in_any_file(code: str) -> None:
    assert screen_files({"toy/other.py": code.encode()}, {"toy/x.py": code.encode()}, {"toy"}) == []


def test_frames_may_be_reached_in_another_way_than_by_the_release() -> None:
    release = {"toy/x.py": b"import inspect\ndef f():\n    return inspect.stack()[1]\n"}
    other = b"import inspect\ndef f():\n    return inspect.currentframe().f_back.f_locals\n"
    assert screen_files({"toy/x.py": other}, release, {"toy"}) == ["toy/x.py:3: .f_locals"]


def test_a_comparison_of_the_release_may_not_ignore_its_operand() -> None:
    release = b"class A:\n    def __eq__(self, other):\n        return self.x == other.x\n"
    assert screen_files({"toy/x.py": release}, {"toy/x.py": release}, {"toy"}) == []
    lazy = release.replace(b"self.x == other.x", b"True")
    assert screen_files({"toy/x.py": lazy}, {"toy/x.py": release}, {"toy"}) == [
        "toy/x.py:2: A.__eq__ ignores its operand"
    ]


def test_a_file_that_is_no_python_is_not_judged_here() -> None:
    assert screen_files({"toy/x.py": b"def"}, {}, {"toy"}) == []
