"""Does a library have what a candidate takes from it?

Asked of the project's own environment, for all candidates of a project at once: another version of a library may have
what this one lacks. Only libraries that the project's modules import themselves are imported here, and only names are
looked up; no candidate's code runs.
"""

import json
import subprocess
from collections.abc import Collection

from dlbench.workspace import Prepared

_SECONDS = 180
_ASK = """
import importlib, importlib.util, json, sys
given = json.load(sys.stdin)
missing = []
for path in given["wanted"]:
    top, *rest = path.split(".")
    try:
        if importlib.util.find_spec(top) is None:
            missing.append(path)
            continue
        if top not in given["allowed"]:
            continue
        here, name = importlib.import_module(top), top
        for part in rest:
            name += "." + part
            if not hasattr(here, part):
                importlib.import_module(name)
            here = getattr(here, part)
            if not isinstance(here, type(sys)):
                break
    except (ImportError, AttributeError):
        missing.append(path)
    except Exception:
        pass
print(json.dumps(missing))
"""


def find_missing(prepared: Prepared, wanted: Collection[str], allowed: Collection[str]) -> frozenset[str] | None:
    """The paths that are not there; None where the environment could not be asked."""
    if not wanted:
        return frozenset()
    try:
        asked = subprocess.run(
            [prepared.python, "-I", "-c", _ASK],
            input=json.dumps({"wanted": sorted(wanted), "allowed": sorted(allowed)}),
            cwd=prepared.tree,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
        return frozenset(json.loads(asked.stdout.strip().split("\n")[-1]))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
