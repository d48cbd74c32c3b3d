"""How is code shown to a model, or answered, so that its end is certain?

Code whose docstring holds a fence would end the block early; so the fence is made longer than any inside.
"""

import re


def fenced(code: str, language: str = "python") -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{code.rstrip()}\n{mark}"
