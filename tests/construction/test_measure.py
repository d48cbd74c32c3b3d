"""Measures depend on code only, not on layout or prose, and work for any valid Python."""

import ast
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.construction.screening.complexity import measure_function, measure_snippet
from dlbench.construction.screening.parsed_module import find_imports
from dlbench.dataset.target import find_target
from dlbench.errors import DLBenchError

PLAIN = '''def scale(values, factor=2):
    """Multiplies.

    At length.
    """
    # why
    if factor == 0:
        raise ValueError("no")

    return [value * factor for value in values]
'''

SPREAD = '''@register(
    "scale",
)
def scale(
    values: list[int],
    factor: int = 2,
) -> list[int]:
    if factor == 0:

        raise ValueError("no")  # because
    """A string that stands alone."""
    return [value * factor for value in values]
'''

ODD = [
    "async def f(x):\n    async with x as y:\n        async for z in y:\n            await z\n    return [i async for i in x]",
    "def f(x):\n    match x:\n        case {'a': [1, *rest], **others}:\n            return rest, others\n        case _:\n            pass",
    "@a\n@b(1)\ndef f(x, /, y, *z, k=1, **w):\n    while (n := next(x)):\n        yield n",
    "def f(): return 1",
    "def f(): '''only words'''",
    "def f(x):\n    try:\n        x()\n    except* ValueError as group:\n        raise group",
    "def f(x):\n    global G\n    def g():\n        nonlocal x\n        x = 1\n    return lambda: g",
    "def f(x):\n    return f\"{x!r:>{len(x)}} {'a' if x else 'b'}\"",
    "def f(x):\n    return f\"{x.split('\u00a0')}\"",
    "    def f(self):\n        return '''\nnot indented\n'''",
    "\tdef f(self):\n\t\treturn 1",
    "\n\ndef f(x):\n    return x",
    "def f(x):\n    return x \\\n        + 1",
    "def ü(ß):\n    return 'Ω'",
]


def test_layout_prose_and_decorators_do_not_count():
    plain, spread = measure_function(PLAIN), measure_function(SPREAD)
    assert plain.loc == spread.loc == 4
    assert plain.statements == spread.statements == 3
    assert plain.cyclomatic == spread.cyclomatic == 3
    assert plain.cognitive == spread.cognitive > 0
    assert (plain.has_docstring, spread.has_docstring) == (True, False)
    assert plain.parameters == 2
    assert plain.calls == 1


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ("return 1", 2),
        ("x = (\n    1,\n    # why\n\n    2,\n)\nreturn x", 6),
        ("return '''a\n\nb'''", 4),
        ("'''words'''\nreturn 1", 2),
        ("'''words'''", 1),
        ("x = 1; y = 2", 2),
        ("def g():\n    '''words'''\n    return 1\nreturn g", 4),
        ("@a\n@b\ndef g():\n    return 1\nreturn g", 6),
        ("pass  # nothing", 2),
    ],
)
def test_loc_is_the_header_and_the_lines_of_the_body_with_code(body, loc):
    segment = "def f(\n    x,\n):\n" + textwrap.indent(body, "    ", lambda line: True)
    assert measure_function(segment).loc == loc


@pytest.mark.parametrize(
    ("body", "nesting"),
    [
        ("return 1", 0),
        ("if x:\n    pass", 1),
        ("if x:\n    pass\nelif y:\n    pass\nelse:\n    pass", 1),
        ("if x:\n    pass\nelse:\n    if y:\n        pass\n    z()", 2),
        ("for i in x:\n    with i:\n        try:\n            pass\n        except E:\n            if i: pass", 4),
        ("match x:\n    case 1:\n        pass", 1),
        ("def g():\n    return 1", 1),
        ("return [[i for i in j] for j in x]", 0),
    ],
)
def test_nesting_counts_blocks(body, nesting):
    assert measure_function("def f(x):\n" + textwrap.indent(body, "    ")).nesting == nesting


def test_comment_cannot_disable_a_measure():
    tangled = "def f(x):{comment}\n    if x:\n        if x > 1:\n            return 1\n"
    loud = measure_function(tangled.format(comment="  # noqa: complexipy"))
    assert loud == measure_function(tangled.format(comment=""))
    assert loud.cognitive == 3


def test_decisions_of_inner_functions_count():
    inner = "def f(x):\n    def g(y):\n        if y:\n            return 1\n    return g"
    assert measure_function(inner).cyclomatic == 2


def test_decisions_in_inner_classes_count():
    method = (
        "class A:\n    if y:\n        z = 1\n    class B:\n        def g(self, y):\n            return 1 if y else 2\n"
    )
    assert measure_snippet(method).cyclomatic == 3
    assert measure_function(f"def f(y):\n{textwrap.indent(method, '    ')}    return A").cyclomatic == 3


@pytest.mark.parametrize(("header", "count"), [("self", 0), ("cls, x", 1), ("x, self", 2), ("a, /, b, *c, d, **e", 5)])
def test_parameters_are_counted_without_self(header, count):
    assert measure_function(f"def f({header}):\n    pass").parameters == count


def test_libraries_are_resolved_through_imports():
    module = ast.parse(
        "import os\nimport numpy as np\nimport torch.nn.functional as F\nfrom jax import numpy as jnp\n"
        "import tensorflow as tf\nfrom . import sibling\nfrom sklearn.metrics import *\nimport pandas"
    )
    imports = find_imports(module, "project.part")
    segment = "def f(x: tf.Tensor):\n    import scipy.special\n    return F.relu(np.exp(x)) + os.name + sibling.y"
    assert measure_function(segment, imports).libraries == ("numpy", "project", "scipy", "tensorflow", "torch")
    assert measure_function(segment).libraries == ("scipy",)


@pytest.mark.parametrize("segment", ODD)
def test_any_valid_function_is_measured(segment):
    measures = measure_function(segment)
    assert measures.loc >= 1
    assert measures.cyclomatic >= 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="this Python does not parse it")
def test_type_parameters_are_supported():
    assert measure_function("def f[T: int](x: T) -> T:\n    return x").parameters == 1


@pytest.mark.parametrize("segment", ["", "x = 1", "class A:\n    pass", "def f(:", "def f():\n    pass\nx = 1", "\0"])
def test_text_that_is_not_one_function_is_rejected(segment):
    with pytest.raises(DLBenchError) as refused:
        measure_function(segment)
    assert refused.value.fix


STATEMENTS = st.recursive(
    st.sampled_from(
        ["x = 1", "return x", "yield x", "f(x)", "'''words\n    more'''", "x = '''a\n\nb'''", "del x", "await x"]
    ),
    lambda inner: st.one_of(
        st.builds(lambda body: "if x:\n" + textwrap.indent(body, "    "), inner),
        st.builds(lambda body: "for i in x:\n" + textwrap.indent(body, "    ") + "\nelse:\n    pass", inner),
        st.builds(lambda body: "async with x:\n" + textwrap.indent(body, "    "), inner),
        st.builds(lambda body: "try:\n" + textwrap.indent(body, "    ") + "\nfinally:\n    pass", inner),
        st.builds(lambda one, other: f"{one}\n{other}", inner, inner),
    ),
    max_leaves=5,
)


@settings(max_examples=100)
@given(STATEMENTS, st.integers(0, 3), st.booleans())
def test_measures_are_independent_of_indentation_and_comments(body, depth, commented):
    """A method's lines, as `find_target` gives them, are measured as those of a function at the left margin."""
    function = "async def f(self, x):\n" + textwrap.indent(body, "    ")
    indented = textwrap.indent(function, "    " * depth)
    source = "".join("    " * level + f"class C{level}:\n" for level in range(depth)) + indented
    target = find_target(source, ".".join([*(f"C{level}" for level in range(depth)), "f"]))
    comment = "\n# messages\n" if commented else ""
    assert measure_function(target.text + comment) == measure_function(function)
