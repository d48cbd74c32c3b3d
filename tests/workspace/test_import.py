import subprocess
import sys


def test_importing_the_workspace_is_light() -> None:
    code = "import sys, dlbench.workspace; print({'requests', 'pypi_simple', 'uv', 'bs4'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
