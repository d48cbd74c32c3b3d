"""Control tests: names and outcomes."""

import subprocess
import sys

PLUGIN = """
import pytest
from dlbench.execution.inside import control_tests
from dlbench.execution.inside.channel import CONTROL_AFTER, CONTROL_BEFORE

control_tests._WORDS = control_tests._WORDS[:5]  # makes equal names likely

def build(session):
    for _ in range(200):
        before, after = control_tests.build_control_tests(session)
        assert len({item.nodeid for item in [*before, *after]}) == len(CONTROL_BEFORE + CONTROL_AFTER)
    return True

plugin = type("Plugin", (), {"pytest_runtestloop": pytest.hookimpl(tryfirst=True)(lambda self, session: build(session))})
raise SystemExit(pytest.main(["-p", "no:cacheprovider", "test_one.py"], plugins=[plugin()]))
"""


def test_no_control_test_has_the_name_of_another(tmp_path):
    """One build in 300 had two of one name; their outcomes were mixed up and honest candidates were `tampered`."""
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n")
    ended = subprocess.run([sys.executable, "-c", PLUGIN], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
