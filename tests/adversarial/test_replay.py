"""Cheats against the replay itself: it must confirm none of them, even if screen and guards had found nothing.

They run where no guard is: in the process that answers calls. Some look for the connection and write to it themselves.
"""

from collections.abc import Iterator

import pytest

from dlbench.dataset import load
from dlbench.execution import Engine, choose_sandbox
from dlbench.execution.fresh import Doubt
from dlbench.execution.judge import Warm
from dlbench.execution.limits import DEFAULT
from dlbench.execution.supervise import Observation
from dlbench.workspace import prepare

ENTITIES = "seqeval/seqeval.metrics.sequence_labeling.get_entities"
SCORES = "seqeval/seqeval.metrics.v1._precision_recall_fscore_support"
_SEND = """
    import gc, json, os, struct
    peer = next(one for one in gc.get_objects() if type(one).__name__ == "Peer")
    def send(kind, node, changed=(), blobs=()):
        head = json.dumps([kind, node, list(changed), list(map(len, blobs))]).encode()
        os.write(peer.descriptor, struct.pack("=QQ", len(head), sum(map(len, blobs))) + head + b"".join(blobs))
    def answer(node, changed=(), blobs=()):
        send("result", ["tuple", ["returned", node, False, ["new", count, ["list", []]]]], changed, blobs)
    count = len(peer.codec.objects)
"""
CHEATS = {
    "a list that equals everything": "class Same(list):\n        __eq__ = lambda self, other: True\n    return Same()",
    "an object of mock that equals everything": "import unittest.mock\n    return unittest.mock.ANY",
    "a text that equals everything": "kind = type('T', (str,), {'__eq__': lambda self, other: True, '__hash__': str.__hash__})\n    return kind()",
    "an object under the name of a trusted class": "import sklearn.utils\n    kind = type('Bunch', (dict,), {'__module__': 'sklearn.utils._bunch', '__eq__': lambda self, other: True})\n    sklearn.utils._bunch.Bunch = kind\n    return kind()",
    "memory through the names of a bunch": "from sklearn.utils import Bunch\n    return Bunch(__array_interface__={'data': (1, False), 'shape': (1,), 'typestr': '<f8', 'version': 3})",
    "an estimator that forwards to its attribute": "from sklearn.frozen import FrozenEstimator\n    return FrozenEstimator({'a': 1})",
    "an array with everything masked": "import numpy\n    return numpy.ma.masked_all((1,))",
    "an array of no number": "import numpy\n    return tuple(numpy.full(1, numpy.nan) for _ in range(4))",
    "an empty array that broadcasts": "import numpy\n    return tuple(numpy.empty((0, 1)) for _ in range(4))",
    "an array of a huge shape": "import numpy\n    return numpy.broadcast_to(numpy.float64(0), (1 << 40,))",
    "a list that contains itself": "value = []\n    value.append(value)\n    return value",
    "the end of an iteration": "raise StopIteration",
    "an exception that skips tests": "import unittest\n    raise unittest.SkipTest('later')",
    "an exception of pytest": "import pytest\n    raise pytest.fail.Exception('done')",
    "the end of the process": "import os\n    os._exit(0)",
    "every argument is emptied": "for one in LOCALS:\n        one.clear() if hasattr(one, 'clear') else None\n    return []",
    "a result without an answer": f"{_SEND}\n    send('result', 1)\n    os._exit(0)",
    "an exception that is no exception": f"{_SEND}\n    send('raised', ['class', ['builtins', 'SystemExit']])\n    os._exit(0)",
    "a message that is no message": f"{_SEND}\n    os.write(peer.descriptor, struct.pack('=QQ', 1, 0) + b'1')\n    os._exit(0)",
    "a message without an end": f"{_SEND}\n    os.write(peer.descriptor, struct.pack('=QQ', 1 << 40, 0))\n    return []",
    "an array of what the tests left in memory": f"{_SEND}\n    answer(['new', count, ['tensor', 'Tensor', 'float32', [9], 0, False, None, -1, [], []]], (), (b'',))\n    os._exit(0)",
    "a call of a function that does not exist": f"{_SEND}\n    send('call_handle', ['tuple', [-1, ['tuple', []], ['new', count, ['dict', 'dict', None, []]]]])\n    os._exit(0)",
    "a pickle": f"{_SEND}\n    answer(['new', count, ['pickled', 0]], (), (b'cos\\nabort\\n(tR.',))\n    os._exit(0)",
    "the tests' module": f"{_SEND}\n    answer(['module', 'pytest'])\n    os._exit(0)",
    "a change of an object that is unknown": f"{_SEND}\n    answer(1, [[99, ['list', []]]])\n    os._exit(0)",
}  # fmt: skip


HEADERS = {
    ENTITIES: "def get_entities(seq, suffix=False):\n    LOCALS = [seq]\n    ",
    SCORES: "def _precision_recall_fscore_support(y_true, y_pred, **others):\n    LOCALS = [y_true, y_pred]\n    ",
}


@pytest.fixture(scope="module", params=HEADERS)
def replayed(request) -> Iterator[dict[str, Observation | Doubt]]:
    benchmark, engine = load(), Engine(choose_sandbox())
    instance = benchmark.instances[request.param]
    prepared = prepare(benchmark.projects[instance.project], benchmark.root)
    warm, target = Warm(engine, prepared), engine.target(prepared, instance)
    codes = {name: f"{HEADERS[request.param]}{body}\n" for name, body in CHEATS.items()} | {"": target.target.text}
    try:
        yield {name: warm._replay(instance, target.read(code), options=DEFAULT) for name, code in codes.items()}
    finally:
        warm.close()


@pytest.mark.slow
def test_reference_is_confirmed(replayed):
    assert isinstance(replayed[""], Observation)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEATS)
def test_cheat_is_not_confirmed(name, replayed):
    doubt = replayed[name]
    assert isinstance(doubt, Doubt)
    assert doubt.is_failure, doubt
