"""What must every kept test reject? The target with its body replaced by nothing: by an error, and by None.

A test that passes on either cannot tell a solution from its absence, and is not kept.
"""

from dlbench.dataset.target import Function, render_signature

BODIES = {"raises": "raise NotImplementedError", "returns_none": "return None"}


def write_stub(function: Function, kind: str) -> str:
    return f"{render_signature(function, decorators=False)}\n    {BODIES[kind]}\n"
