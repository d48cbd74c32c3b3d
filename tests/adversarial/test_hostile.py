"""A hostile candidate never passes, costs no more than its limits, and leaves nothing behind."""

import os
import time
from pathlib import Path

import pytest

from dlbench.execution import Engine, Limits, find_confinements, judge
from dlbench.execution.supervise import find_descendants
from dlbench.workspace import home
from tests.adversarial.hostile import BODIES, Hostile

RIGHT = "    if factor == 0:\n        raise ValueError\n    return [value * factor for value in values]\n"
LIMITS = Limits(load_seconds=60, test_seconds=4, memory_mb=512, processes=64, file_mb=32)
KINDS = [kind for kind, obstacle in find_confinements() if not obstacle and kind.name != "basic"]


@pytest.mark.parametrize("confinement", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("hostile", BODIES, ids=lambda hostile: hostile.name)
def test_hostile_candidate_gets_its_verdict(toy, toy_prepared, confinement, hostile: Hostile):
    body = "".join(f"    {line}\n" for line in hostile.body.split("\n"))
    code = f"def scale(values, factor=2):\n{body}{RIGHT}"
    began = time.monotonic()
    verdict = judge(Engine(confinement, LIMITS), toy_prepared, toy.instances["toy/toy.core.scale"], code)
    assert verdict.status in hostile.verdicts, verdict
    assert verdict.sandbox == confinement.name
    assert time.monotonic() - began < 60
    assert find_descendants(os.getpid()) == [os.getpid()]
    assert not list((home() / "cells").glob(f"{os.getpid()}-*"))
    assert not Path("/usr/dlbench-was-here").exists()
    assert not Path("/dlbench-was-here").exists()


HOMES = [str(Path.home() / ".ssh"), str(Path.home() / ".config"), "/home", "/var/log"]
# what a candidate may read of any process, whether it is allowed to list them or not
PROCESSES = """import os
def look(what):
    for p in range(1, 70000):
        if os.path.exists(f'/proc/{p}'):
            try: yield open(f'/proc/{p}/{what}', 'rb').read()
            except OSError: pass
"""
SECRETS = {
    "the user's home": "import os\nfor p in HOMES:\n    try: seen = os.listdir(p)\n    except OSError: seen = []\n    assert not seen, seen",
    "keys in the environment": "import os\nassert 'DLBENCH_TEST_SECRET' not in os.environ",
    "keys in the parent's environment": PROCESSES + "assert b'DLBENCH_TEST_SECRET' not in b''.join(look('environ'))",
    "command lines of others": PROCESSES + "assert all(b'runner.py' in line or not line for line in look('cmdline')), list(look('cmdline'))",
    "the reference's source": "import os\nhere = os.path.dirname(os.path.abspath(__file__))\nassert not any(b'factor must ' + b'not be zero' in open(os.path.join(d, f), 'rb').read() for d, _, fs in os.walk(here) for f in fs)",
}  # fmt: skip


@pytest.mark.parametrize("confinement", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", SECRETS)
def test_a_candidate_cannot_see(toy, toy_prepared, confinement, name, monkeypatch):
    """The assertion is made inside the sandbox: the candidate passes only when it sees nothing."""
    monkeypatch.setenv("DLBENCH_TEST_SECRET", "sesame")
    body = "".join(f"    {line}\n" for line in SECRETS[name].replace("HOMES", repr(HOMES)).split("\n"))
    code = f"def scale(values, factor=2):\n{body}{RIGHT}"
    verdict = judge(Engine(confinement, LIMITS), toy_prepared, toy.instances["toy/toy.core.scale"], code)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("confinement", KINDS, ids=lambda kind: kind.name)
def test_an_honest_candidate_passes_and_may_use_its_own_folder(toy, toy_prepared, confinement):
    body = "    import tempfile, os\n    with tempfile.NamedTemporaryFile() as file:\n        file.write(b'x')\n"
    body += "    open(os.path.expanduser('~/mine'), 'w').close()\n"
    code = f"def scale(values, factor=2):\n{body}{RIGHT}"
    verdict = judge(Engine(confinement, LIMITS), toy_prepared, toy.instances["toy/toy.core.scale"], code)
    assert verdict.passed, verdict.message
    assert set(verdict.tests.values()) == {"passed"}
    assert verdict.memory_mb > 10
