"""The examples in CONTRIBUTING register themselves and work."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
CHECKS = {
    "a prompting technique": """
from dlbench.generation.techniques import find_technique
assert find_technique("typed").render is render
""",
    "a model client": """
import asyncio
from dlbench.generation.model import Request
model = ModelOptions().open("echo:any")
request = Request("toy/toy.core.scale", 0, [{"role": "user", "content": "hello"}])
assert asyncio.run(model.answer(request)).text == "hello"
""",
    "a sandbox": """
from dlbench.execution import find_sandboxes
assert [one.name for one, _ in find_sandboxes()][:2] == ["bubblewrap", "podman"]
""",
    "a prompt mutation operator": """
from dlbench.agreement.mutation import find_operators
assert [one.name for one in find_operators(["please"])] == ["please"]
""",
    "a mutator of further inputs": """
from dlbench.execution.plus.mutators import vary
from dlbench.execution.plus.nodes import Data, list_objects, read_array
values = np.array([3.0, 1.0, 2.0])
keywords = ["new", 1, ["dict", "dict", None, []]]
call = Data(["tuple", [["tuple", [["new", 0, ["array", "<f8", [3], 0]]]], keywords]], [values.tobytes()])
varied = vary("sorted", call, [call], 0)
assert read_array(list_objects(varied.node)[0], varied.blobs).tolist() == [1.0, 2.0, 3.0]
""",
    "a statistic": """
from types import SimpleNamespace
subject = SimpleNamespace(score=SimpleNamespace(pass_at_1=0.25))
assert STATISTICS["failure_rate"].cell(subject) == "75.0 %"
assert STATISTICS["failure_rate"].export(subject) == {"failure_rate": 0.75}
""",
    "a report section": """
from types import SimpleNamespace
from dlbench.reporting.sections import MARKDOWN, SECTIONS
run = SimpleNamespace(verdicts=[{"instance": "a", "seconds": 1.0}, {"instance": "b", "seconds": 2.0}])
(table,) = SECTIONS["slowest"].make(SimpleNamespace(runs={"run": run}))
assert MARKDOWN in SECTIONS["slowest"].formats
assert table.content[1] == [["b", "2.0"], ["a", "1.0"]]
""",
}


def test_every_extension_point_has_an_example():
    assert len(EXAMPLES) == len(CHECKS)


@pytest.mark.parametrize(("name", "example"), list(zip(CHECKS, EXAMPLES, strict=True)))
def test_an_example_of_contributing_registers_itself(name, example):
    """In a new interpreter: a registry of this process must not keep the example."""
    ended = subprocess.run([sys.executable, "-c", example + CHECKS[name]], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
