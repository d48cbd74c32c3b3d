"""Classify a failure by rules that agree with people, and stay silent where no rule does.

Tests show a symptom and people name a cause: most errors (wrong values, shapes that do not match, missing attributes)
do not tell the category. `studies/bug_labels.py` measures these rules and the rejected ones on people's labels.
"""

import re
from dataclasses import dataclass

from dlbench.analysis.bugs.failures import Failure
from dlbench.runs.verdict import Status

_IMPORT = re.compile(r"^(?:E\s+)?ImportError: cannot import name '(\w+)' from '([\w.]+)'", re.M)


@dataclass(frozen=True)
class Classified:
    category: str
    reason: str


def classify(failure: Failure) -> Classified | None:
    """None if no rule is reliable for this failure."""
    match failure.verdict["status"]:
        case Status.SYNTAX_ERROR:
            return Classified("syntax_error", "the code does not parse")
        case Status.NO_CODE | Status.MISSING_TARGET:
            return Classified("misinterpretation", "the answer does not define the requested function")
    target = re.escape(failure.instance.qualname.rpartition(".")[2])
    if re.search(rf"TypeError: (?:\w+\.)*{target}\(\) (?:missing|takes|got an unexpected)", failure.message):
        return Classified("misinterpretation", "the function does not accept the arguments it is called with")
    if found := _IMPORT.search(failure.message):
        return Classified("wrong_attribute", f"{found[2]} has no {found[1]}")
    return None
