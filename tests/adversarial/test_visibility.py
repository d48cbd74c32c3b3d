"""A candidate cannot see secrets, tests or other processes, and an honest one may use its own folder."""

from pathlib import Path

import pytest

from dlbench.execution import Engine, find_sandboxes, judge
from dlbench.execution.judge import Warm
from tests.adversarial.arena import LIMITS

SANDBOXES = [sandbox for sandbox, obstacle in find_sandboxes() if not obstacle and sandbox.name != "basic"]
RIGHT = "    if factor == 0:\n        raise ValueError\n    return [value * factor for value in values]\n"
HOMES = [str(Path.home() / ".ssh"), str(Path.home() / ".config"), "/home", "/var/log"]
# tries every process id, since /proc may not be listed
PROCESSES = """import os
def look(what):
    for p in range(1, 40000):
        if os.path.exists(f'/proc/{p}'):
            try: yield open(f'/proc/{p}/{what}', 'rb').read()
            except OSError: pass
"""
SECRETS = {
    "the user's home": "import os\nfor p in HOMES:\n    try: seen = os.listdir(p)\n    except OSError: seen = []\n    assert not seen, seen",
    "keys in the environment": "import os\nassert 'DLBENCH_TEST_SECRET' not in os.environ",
    "keys in the parent's environment": PROCESSES + "assert b'DLBENCH_TEST_SECRET' not in b''.join(look('environ'))",
    "command lines of others": PROCESSES + "assert all(b'main.py' in line or not line for line in look('cmdline')), list(look('cmdline'))",
    "the reference's source": "import os\nhere = os.path.dirname(os.path.abspath(__file__))\nfor d, _, fs in os.walk(here):\n    for f in fs:\n        try: text = open(os.path.join(d, f), 'rb').read()\n        except OSError: continue\n        assert b'factor must ' + b'not be zero' not in text",
    "the tests' source": "import os\nroot = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\nfor f in ('conftest.py', 'test_core.py'):\n    try: text = open(os.path.join(root, 'tests', f)).read()\n    except OSError: continue\n    raise AssertionError(f)",
    "which test is running": "import os\nassert 'PYTEST_CURRENT_TEST' not in os.environ",
}  # fmt: skip


@pytest.fixture(params=[pytest.param("fresh", marks=pytest.mark.slow), "warm"])
def verdict_on(request, toy, toy_prepared):
    """Judge statements in the toy's function, in a sandbox and a mode."""

    def run(sandbox, body: str):
        text = "".join(f"        {line}\n" for line in body.split("\n"))
        code = f"def scale(values, factor=2):\n    if factor == 1:\n{text}{RIGHT}"  # one call is enough
        engine, instance = Engine(sandbox, LIMITS), toy.instances["toy/toy.core.scale"]
        if request.param == "fresh":
            return judge(engine, toy_prepared, instance, code)
        warm = Warm(engine, toy_prepared)
        try:
            verdict = warm.judge(instance, code)
        finally:
            warm.close()
        assert verdict.mode == "in_place"
        return verdict

    return run


@pytest.mark.parametrize("sandbox", SANDBOXES, ids=lambda sandbox: sandbox.name)
@pytest.mark.parametrize("name", SECRETS)
def test_candidate_cannot_see(verdict_on, sandbox, name, monkeypatch):
    """The candidate makes the assertion itself: it passes only if it sees nothing."""
    monkeypatch.setenv("DLBENCH_TEST_SECRET", "sesame")
    verdict = verdict_on(sandbox, SECRETS[name].replace("HOMES", repr(HOMES)))
    if name in {"the reference's source", "the tests' source"} and verdict.status == "tampered":
        return  # it opened a file that it must not read, which the audit reports
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("sandbox", SANDBOXES, ids=lambda sandbox: sandbox.name)
def test_data_of_tests_is_readable_and_other_names_only_exist(verdict_on, sandbox):
    """Honest code may have to load such files. Sandlock answers whether any path exists; it opens none of them."""
    body = "import os\nroot = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\n"
    body += "assert open(os.path.join(root, 'tests', 'data.txt')).read() == 'data\\n'\n"
    body += f"assert os.path.exists('/var/log') == {sandbox.name == 'sandlock'}\n"
    verdict = verdict_on(sandbox, body)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("sandbox", SANDBOXES, ids=lambda sandbox: sandbox.name)
def test_honest_candidate_may_write_to_its_own_folder(verdict_on, sandbox):
    body = "import tempfile, os\nwith tempfile.NamedTemporaryFile() as file:\n    file.write(b'x')\n"
    body += "open(os.path.expanduser('~/mine'), 'w').close()"
    verdict = verdict_on(sandbox, body)
    assert verdict.passed, verdict.message
    assert set(verdict.tests.values()) == {"passed"}
    assert verdict.memory_mb > 10
    assert verdict.sandbox == sandbox.name
