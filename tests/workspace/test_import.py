import subprocess
import sys


def test_importing_the_workspace_loads_nothing_that_is_heavy() -> None:
    code = "import sys, dlbench.workspace; print({'requests', 'pypi_simple', 'uv', 'bs4'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
