"""Unusual but honest code is not reported as tampering: it passes in both modes."""

import ast
import tempfile
import textwrap
from dataclasses import replace
from functools import cache

import pytest

from dlbench.dataset import load
from dlbench.execution import Engine, choose_sandbox
from dlbench.execution.judge import judge
from dlbench.execution.pool import Pool, Task
from dlbench.runs.verdict import Confirm, Verdict
from dlbench.workspace import prepare
from tests.adversarial.arena import LIMITS, open_project

RIGHT = """def scale(values, factor=2):
    {first}
    if factor == 0:
        raise ValueError
    return [value * factor for value in values]
"""
FIRST = {
    "logs": "import logging\n    logging.getLogger('x').warning('here %s', values)",
    "warns": "import warnings\n    warnings.warn('odd', stacklevel=2)",
    "formats a traceback": "import traceback\n    try: 1 / 0\n    except ZeroDivisionError: traceback.format_exc()",
    "reads a signature": "import inspect\n    inspect.signature(scale).parameters['factor'].default",
    "asks for its own name": "scale.__name__, scale.__doc__, scale.__module__",
    "counts arguments of a callback": "(lambda a, b: a).__code__.co_argcount",
    "makes a named tuple": "import collections\n    collections.namedtuple('P', 'a b')(1, 2)._asdict()",
    "makes a dataclass": "import dataclasses\n    assert dataclasses.make_dataclass('P', ['a'])(1) == dataclasses.make_dataclass('P', ['a'])(1) or True",
    "makes an enum": "import enum\n    enum.Enum('Colour', 'RED BLUE').RED.value",
    "evaluates an expression": "assert eval('1 + 1') == 2",
    "executes a definition": "names = {}\n    exec('def twice(x): return 2 * x', names)\n    assert names['twice'](2) == 4",
    "works in threads": "from concurrent.futures import ThreadPoolExecutor\n    with ThreadPoolExecutor(2) as pool: assert list(pool.map(abs, [-1, 2])) == [1, 2]",
    "pickles": "import pickle\n    assert pickle.loads(pickle.dumps({'a': [1, 2]})) == {'a': [1, 2]}",
    "copies": "import copy\n    values = copy.deepcopy(values)",
    "collects garbage": "import gc\n    gc.collect()",
    "uses a weak reference": "import weakref\n    thing = type('Thing', (), {})()\n    assert weakref.ref(thing)() is thing",
    "computes a name": "assert getattr([1], 'ap' + 'pend')",
    "keeps state on itself": "scale.calls = getattr(scale, 'calls', 0) + 1",
    "changes the type": "values = type(values)(values)",
    "writes and reads a file": "import tempfile\n    with tempfile.TemporaryFile('w+') as file:\n        file.write('x')\n        file.seek(0)\n        assert file.read() == 'x'",
    "moves a file to another folder": "import os, tempfile\n    with tempfile.TemporaryDirectory() as place:\n        os.mkdir(place + '/a')\n        open(place + '/a/x', 'w').close()\n        os.replace(place + '/a/x', place + '/x')\n        os.replace(place + '/a', place + '/x.d')",
    "runs a program": "import subprocess, sys\n    assert subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout == b'1\\n'",
    "ignores a signal": "import signal\n    signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
    "patches and fixes": "import json\n    before = json.dumps\n    json.dumps = str\n    json.dumps = before",
    "imports by name": "import importlib\n    assert importlib.import_module('math').pi > 3",
    "looks at loaded modules": "import sys\n    assert 'toy' in sys.modules and sys.version_info > (3,)",
    "joins a thread": "import threading\n    found = []\n    def work(): found.extend(values)\n    thread = threading.Thread(target=work)\n    thread.start()\n    thread.join()\n    values = found",
    "joins two threads": "import threading\n    threads = [threading.Thread(target=lambda: list(values)) for _ in range(2)]\n    [thread.start() for thread in threads]\n    [thread.join() for thread in threads]",
    "runs an event loop": "import asyncio\n    async def work(): return list(values)\n    values = asyncio.run(work())",
    "makes a coroutine of a generator": "import types\n    @types.coroutine\n    def wait(): yield\n    wait().close()",
    "names frames in texts": "'Not sys._getframe, __globals__ or pytest.'\n    message = 'no gi_frame, no __closure__'",
    "looks at its own frame": "import inspect\n    inspect.currentframe().f_code.co_name",
    "prints": "print('hello', flush=True)",
    "hashes": "import hashlib\n    hashlib.sha256(b'x').hexdigest()",
    "generates": "values = list(value for value in values)",
    "catches everything": "try: raise KeyError('x')\n    except BaseException as error: str(error.__traceback__ and error)",
}
WHOLE = {
    "a helper class": "class Scaler:\n    def __init__(self, factor): self.factor = factor\n    def __call__(self, value): return value * self.factor\n\n" + RIGHT.format(first="pass").replace("value * factor for", "Scaler(factor)(value) for"),
    "a helper class with its own equality, kept inside": "class Key:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return self.x == other.x\n    def __hash__(self): return hash(self.x)\n\n" + RIGHT.format(first="{Key(value): 1 for value in values}"),
    "a dataclass as a helper": "from dataclasses import dataclass\n\n@dataclass\nclass Pair:\n    a: int\n    b: int\n\n" + RIGHT.format(first="assert Pair(1, 2) == Pair(1, 2)"),
    "a cache": "from functools import lru_cache\n\n@lru_cache(maxsize=None)\ndef twice(x): return 2 * x\n\n" + RIGHT.format(first="twice(2)"),
    "a context manager": "from contextlib import contextmanager\n\n@contextmanager\ndef quietly():\n    yield\n\n" + RIGHT.format(first="with quietly(): pass"),
    "a type variable": "from typing import TypeVar, List\nT = TypeVar('T')\n\n" + RIGHT.format(first="pass").replace("(values, factor=2)", "(values: List[int], factor: int = 2) -> List[int]"),
    "a recursion": "def go(values, factor):\n    return [values[0] * factor, *go(values[1:], factor)] if values else []\n\ndef scale(values, factor=2):\n    if not factor:\n        raise ValueError\n    return go(list(values), factor)\n",
    "a constant": "LIMIT = 10 ** 9\n\n" + RIGHT.format(first="assert LIMIT"),
    "a registry of subclasses": "class Base:\n    pass\n\nclass One(Base):\n    pass\n\n" + RIGHT.format(first="assert Base.__subclasses__() == [One]"),
}  # fmt: skip
ANSWERS = {name: RIGHT.format(first=first) for name, first in FIRST.items()} | WHOLE

MODES = ["auto", pytest.param("fresh", marks=pytest.mark.slow)]


@cache
def judged(mode: str) -> dict[str, Verdict]:
    return judge_answers(mode, list(ANSWERS))


def judge_answers(mode: str, names: list[str]) -> dict[str, Verdict]:
    benchmark, instance = open_project("toy")
    prepared = {"toy": prepare(benchmark.projects["toy"], benchmark.root)}
    tasks = [Task(instance, ANSWERS[name], number, name) for number, name in enumerate(names)]
    found: dict[str, Verdict] = {}
    pool = Pool(Engine(choose_sandbox(), LIMITS), prepared, workers=2, mode=mode)
    pool.run(tasks, lambda task, verdict: found.update({task.name: verdict}))
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ANSWERS)
def test_honest_code_passes(name: str, mode: str):
    verdict = judged(mode)[name]
    assert verdict.passed, verdict


@pytest.mark.slow
def test_first_import_of_a_library_is_no_tampering(engine):
    """Extension modules of scipy take names from ctypes while the candidate's import statement runs."""
    benchmark = load()
    instance = benchmark.instances["albucore/albucore.arithmetic._prepare_array_value"]
    prepared = prepare(benchmark.projects["albucore"], benchmark.root)
    module = ast.parse(textwrap.dedent(engine.target(prepared, instance).target.text))
    module.body[0].body[:0] = ast.parse("import scipy.optimize").body
    verdict = judge(replace(engine, confirm=Confirm.UNUSUAL), prepared, instance, ast.unparse(module))
    assert verdict.passed
    assert "confirmed" not in verdict.extra


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_workspace_below_tmp_changes_no_verdict(mode: str, monkeypatch):
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        monkeypatch.setenv("DLBENCH_HOME", home)
        verdicts = judge_answers(mode, ["writes and reads a file", "a helper class", "runs a program"])
    assert {name: verdict.passed for name, verdict in verdicts.items()} == dict.fromkeys(verdicts, True), verdicts
