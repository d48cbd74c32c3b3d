"""How is a model asked for tests of a function that it has not seen?

With the task as the solutions' prompt tells it, and with rules that make the answer usable: complete functions, each
alone, no fixture, no file, expected values written out. The solution is not asked for in the same breath: tests written
beside a solution say what that solution does.
"""

from dlbench.generation.model import Message

CHECKS = 5
SYSTEM = (
    "You write tests in Python for deep-learning projects. Answer with one Python code block that contains only test "
    "functions. Do not implement what is tested."
)


def ask_for_checks(task: str, name: str, count: int = CHECKS) -> list[Message]:
    """`task`: the description that the solutions' prompt has, without its last sentence; `name`: what to call."""
    rules = (
        f"Now write {count} test functions for `{name}`, named test_1 to test_{count}, in one Python code block. "
        f"Each calls `{name}` on small inputs that are written out or seeded and asserts on what it returns or raises, "
        "with expected values that follow from the description. Compare floating-point arrays and tensors with a "
        "tolerance (torch.testing.assert_close, numpy.testing.assert_allclose). Each test stands alone: no arguments, "
        "no fixtures, no files, no network. Everything that the module has is in scope already; import anything else."
    )
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"{task}\n\n{rules}"}]
