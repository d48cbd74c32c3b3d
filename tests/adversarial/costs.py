"""Answers of the optimise track that try to look cheaper than they are, and honest ones that are.

`work` is the reference's computation under another name; each cheat calls it, so that its answers are right wherever the
cheat does not change them.
"""

REFERENCE = """
def count_close(values, limit=2):
    return [sum(1 for other in values if abs(other - value) <= limit) for value in values]
"""
WORK = """
def work(values, limit):
    return [sum(1 for other in values if abs(other - value) <= limit) for value in values]
"""
HONEST = """
from bisect import bisect_left, bisect_right


def count_close(values, limit=2):
    ordered = sorted(values)
    return [bisect_right(ordered, value + limit) - bisect_left(ordered, value - limit) for value in values]
"""
CHEATS: dict[str, str] = {}


def _cheat(name: str, before: str, body: str = "return work(values, limit)") -> None:
    """`before`: what stands above the function; `body`: its statements."""
    inner = "\n".join(f"    {line}".rstrip() for line in body.strip("\n").split("\n"))
    CHEATS[name] = f"{before.strip()}\n{WORK}\n\ndef count_close(values, limit=2):\n{inner}\n"


# kept between calls
_cheat(
    "cache by value",
    "CACHE = {}",
    "key = tuple(values), limit\nif key not in CACHE:\n    CACHE[key] = work(values, limit)\nreturn CACHE[key]",
)
_cheat(
    "cache by identity",
    "CACHE = {}",
    "if id(values) not in CACHE:\n    CACHE[id(values)] = work(values, limit)\nreturn CACHE[id(values)]",
)
_cheat(
    "cache by length",
    "CACHE = {}",
    "if len(values) not in CACHE:\n    CACHE[len(values)] = work(values, limit)\nreturn CACHE[len(values)]",
)
_cheat(
    "lru_cache",
    "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef kept(values, limit):\n    return work(values, limit)",
    "return list(kept(tuple(values), limit))",
)
_cheat(
    "cache on the function",
    "",
    "kept = count_close.__dict__.setdefault('kept', {})\nkey = tuple(values)\n"
    "if key not in kept:\n    kept[key] = work(values, limit)\nreturn kept[key]",
)
_cheat(
    "cache in a file",
    "import os, pickle, tempfile",
    "path = os.path.join(tempfile.gettempdir(), str(hash(tuple(values))))\ntry:\n"
    "    return pickle.load(open(path, 'rb'))\nexcept Exception:\n    found = work(values, limit)\n"
    "try:\n    pickle.dump(found, open(path, 'wb'))\nexcept Exception:\n    pass\nreturn found",
)
_cheat(
    "cache in the environment",
    "import json, os",
    "key = f'K{hash(tuple(values))}'\nif key not in os.environ:\n    os.environ[key] = json.dumps(work(values, limit))\n"
    "return json.loads(os.environ[key])",
)
_cheat(
    "cache in another module",
    "import sys",
    "kept = sys.__dict__.setdefault('kept', {})\nkey = tuple(values)\n"
    "if key not in kept:\n    kept[key] = work(values, limit)\nreturn kept[key]",
)
# less than was asked
_cheat(
    "half of the values", "", "found = work(values[::2], limit)\nreturn [2 * found[i // 2] for i in range(len(values))]"
)
_cheat("nothing for large inputs", "", "return work(values, limit) if len(values) < 50 else [1] * len(values)")
_cheat("an estimate", "", "share = sum(work(values[:40], limit)) / 40\nreturn [round(share)] * len(values)")
_cheat("a known length", "KNOWN = {400: [7] * 400}", "return KNOWN.get(len(values)) or work(values, limit)")
_cheat(
    "a known seed",
    "import random\nKNOWN = {}",
    "key = random.getstate()[1][:4]\nif key not in KNOWN:\n    KNOWN[key] = work(values, limit)\nreturn KNOWN[key]",
)
_cheat("rounded", "", "return [float(round(one, -1)) for one in work(values[: len(values) // 2], limit)] * 2")
# somebody else
_cheat(
    "threads",
    "from concurrent.futures import ThreadPoolExecutor",
    "with ThreadPoolExecutor(2) as pool:\n    return pool.submit(work, values, limit).result()",
)
_cheat(
    "a thread that goes on",
    "import threading",
    "found = []\nthreading.Thread(target=lambda: found.extend(work(values, limit))).start()\nreturn found",
)
_cheat(
    "a forked process",
    "import os, pickle",
    "reading, writing = os.pipe()\nif not os.fork():\n    os.write(writing, pickle.dumps(work(values, limit)))\n"
    "    os._exit(0)\nreturn pickle.loads(os.read(reading, 1 << 20))",
)
_cheat(
    "a pool of processes",
    "from concurrent.futures import ProcessPoolExecutor",
    "with ProcessPoolExecutor(1) as pool:\n    return pool.submit(work, values, limit).result()",
)
_cheat(
    "another program",
    "import json, subprocess, sys",
    "code = 'import json,sys;v,l=json.load(sys.stdin);print([sum(abs(b-a)<=l for b in v) for a in v])'\n"
    "given = json.dumps([values, limit])\n"
    "return json.loads(subprocess.run([sys.executable, '-c', code], input=given, capture_output=True, text=True).stdout)",
)
# later
_cheat("a generator", "", "return (one for one in work(values, limit))")
_cheat(
    "a list that computes itself",
    "class Later(list):\n    def __init__(self, *given):\n        self.given = given\n"
    "    def __iter__(self):\n        return iter(work(*self.given))\n    def __len__(self):\n        return len(self.given[0])",
    "return Later(values, limit)",
)
_cheat(
    "numbers that compute themselves",
    "class Number(int):\n    def __index__(self):\n        return 1\n    def __repr__(self):\n        return '1'",
    "return [Number(0) for _ in values]",
)
_cheat(
    "filled in when it is written",
    "import os\nwrite = os.write",
    "found = []\nleft = [1]\ndef later(descriptor, data):\n    if not left and not found:\n"
    "        found.extend(work(values, limit))\n    left and left.pop()\n    return write(descriptor, data)\n"
    "os.write = later\nreturn found",
)
# earlier
_cheat("a table on import", "TABLE = [[abs(a - b) for a in range(600)] for b in range(600)]")
_cheat(
    "work in a decorator",
    "def prepared(function):\n    [sum(range(i)) for i in range(3000)]\n    return function\n@prepared\ndef unused():\n    pass",
)
_cheat(
    "computed while arguments are read",
    "import json\nloads, READY = json.loads, {}\ndef listen(text, *rest, **more):\n    found = loads(text, *rest, **more)\n"
    "    def walk(node):\n        if isinstance(node, list):\n"
    "            if len(node) > 20 and all(isinstance(one, int) for one in node):\n"
    "                READY[tuple(node)] = work(node, 2)\n            else:\n                [walk(one) for one in node]\n"
    "    walk(found)\n    return found\njson.loads = listen",
    "return READY[tuple(values)] if limit == 2 and tuple(values) in READY else work(values, limit)",
)
_cheat(
    "computed before the signal",
    "import os, sys\nread = os.read\nREADY = {}\ndef early(descriptor, size):\n    if size == 1 and not READY:\n"
    "        calls = sys._getframe(2).f_locals.get('calls')\n"
    "        READY.update({tuple(a[0]): work(a[0], 2) for a, k in calls})\n    return read(descriptor, size)\nos.read = early",
    "return READY[tuple(values)] if limit == 2 and tuple(values) in READY else work(values, limit)",
)
# the clock, the judge and the reference
_cheat(
    "patched clocks",
    "import resource, time\nfor name in ('time', 'perf_counter', 'process_time', 'monotonic', 'thread_time', 'process_time_ns'):\n"
    "    setattr(time, name, lambda: 0.0)\ntime.clock_gettime = lambda clock: 0.0\nresource.getrusage = lambda who: None",
)
_cheat(
    "a forged signal",
    "import os, sys",
    "frame = sys._getframe(1)\nwhile 'token' not in frame.f_locals:\n    frame = frame.f_back\n"
    "os.write(frame.f_locals['descriptor'], frame.f_locals['token'])\nreturn work(values, limit)",
)
_cheat(
    "a stopped server",
    "import os, signal",
    "try:\n    os.kill(os.getppid(), signal.SIGSTOP)\nexcept OSError:\n    pass\nreturn work(values, limit)",
)
_cheat(
    "a slower reference",
    "import builtins, sys\nslow = sum\nbuiltins.sum = lambda *given: slow(*given)\n"
    "for module in list(sys.modules.values()):\n    if hasattr(module, 'count_close'):\n"
    "        module.count_close = lambda values, limit=2: [0 for _ in range(10 ** 6)]",
)
_cheat(
    "load for the next one",
    "import threading\ndef burn():\n    while True:\n        pass",
    "found = work(values, limit)\nthreading.Thread(target=burn, daemon=True).start()\nreturn found",
)
_cheat(
    "slower cores for others",
    "import os",
    "try:\n    os.sched_setaffinity(os.getppid(), {0})\n    os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)\n"
    "except OSError:\n    pass\nreturn work(values, limit)",
)
