"""The techniques with examples, which differ in how they choose them.

Examples precede the question as answered turns, so they also show the form of an answer. `few-shot-same-stage` uses the
instance's label, which a user does not have: it bounds what `few-shot-predicted-stage` can reach with a perfect
predictor.

`few-shot-cot` needs reasoning for its examples, and nobody has written any. `explain` generates it from the solution:
the arguments, then a sentence for each statement, with runs of assignments merged. It states what is done in which
order, not why, and quotes no more code than names and short conditions.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from dlbench.dataset.prompt_context import fenced
from dlbench.dataset.records import Instance
from dlbench.dataset.target import find_body, is_prose, parse_function
from dlbench.generation.techniques.base import (
    REASONING_SYSTEM,
    SYSTEM,
    Choice,
    Example,
    Question,
    Technique,
    Turns,
    add_technique,
    closing,
    describe,
    reasoning_closing,
    system,
    task_of,
    user,
)
from dlbench.generation.techniques.examples import ExampleDraw

PREDICTED_STAGE = "few-shot-predicted-stage"
_MAX_QUOTE = 60
_MAX_NAMES = 4


def render_few_shot(
    instructions: str, close: Callable[[Instance], str], answer: Callable[[str], str]
) -> Callable[[Question, Sequence[Example]], Turns]:
    def render(question: Question, examples: Sequence[Example]) -> Turns:
        messages = [system(instructions)]
        for example in examples:
            messages.append(user(describe(example.instance, example.signature), close(example.instance)))
            messages.append({"role": "assistant", "content": answer(example.solution)})
        return [[*messages, user(task_of(question), close(question.instance))]]

    return render


def choose(fits: Callable[[Instance, Instance], bool]) -> Callable[[ExampleDraw], Choice]:
    """Draw the examples for which `fits(instance, example)` holds."""
    return lambda examples: Choice(tuple(examples.draw(lambda other: fits(examples.instance, other))))


def choose_predicted_stage(examples: ExampleDraw) -> Choice:
    stage = examples.predict_stage()
    drawn = examples.draw(lambda other: other.labels.stage == stage)
    return Choice(tuple(drawn), {"predicted_stage": str(stage)})


_any = choose(lambda instance, other: True)
_same_stage = choose(lambda instance, other: other.labels.stage == instance.labels.stage)
_same_project = choose(lambda instance, other: other.project == instance.project)
_other_projects = choose(lambda instance, other: other.project != instance.project)

_plain = render_few_shot(SYSTEM, closing, fenced)
_reasoned = render_few_shot(REASONING_SYSTEM, reasoning_closing, lambda code: f"{explain(code)}\n\n{fenced(code)}")

for _order, _technique in enumerate(
    (
        Technique("few-shot-random", "examples drawn at random", _plain, _any),
        Technique("few-shot-same-stage", "examples with the instance's stage label", _plain, _same_stage),
        Technique(PREDICTED_STAGE, "examples of the stage predicted from the prompt", _plain, choose_predicted_stage),
        Technique("few-shot-same-project", "examples of the same project", _plain, _same_project),
        Technique("few-shot-other-projects", "examples of other projects", _plain, _other_projects),
        Technique("few-shot-cot", "random examples with generated reasoning", _reasoned, _any),
    ),
    start=3,
):
    add_technique(_technique, order=_order)


def explain(solution: str) -> str:
    """Numbered sentences that state what a function does."""
    function = parse_function(solution)
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = [f"`{argument.arg}`" for argument in every if argument.arg not in ("self", "cls")]
    steps = [
        f"I am given {_join(names)}." if names else "I am given no arguments.",
        *_describe_all(find_body(function)),
    ]
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def _describe_all(statements: Iterable[ast.stmt]) -> Iterator[str]:
    run: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            run.append(statement)
            continue
        if run:
            yield f"I {_actions(run)}."
            run = []
        yield from _describe(statement)
    if run:
        yield f"I {_actions(run)}."


def _describe(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            yield f"Where {_quote(test)}, I {_actions(body)}."
            if orelse:
                first, *rest = _describe_all(orelse)
                yield f"Otherwise: {first}"
                yield from rest
        case ast.For(target=target, iter=over) | ast.AsyncFor(target=target, iter=over):
            yield f"For each {_quote(target)} of {_quote(over)}, I {_actions(statement.body)}."
        case ast.While(test=test, body=body):
            yield f"As long as {_quote(test)}, I {_actions(body)}."
        case ast.With() | ast.AsyncWith():
            yield f"Inside {_join([_quote(item.context_expr) for item in statement.items])}, I go on as follows."
            yield from _describe_all(statement.body)
        case ast.Try():
            yield from _describe_all(statement.body)
            yield "I deal with the errors that this can raise."
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield f"I need a helper `{name}`."
        case ast.Return() | ast.Raise() | ast.Expr() if not is_prose(statement):
            yield f"I {_actions([statement])}."


def _actions(statements: Sequence[ast.stmt]) -> str:
    """What statements do at any depth: the names they set, what they call for its effect, how they end."""
    actions: dict[str, list[str]] = {"work out": [], "call": [], "raise": [], "give back": []}
    for node in (node for statement in statements for node in ast.walk(statement)):
        match node:
            case ast.Assign(targets=targets):
                actions["work out"] += [_quote(target) for target in targets]
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                actions["work out"].append(_quote(target))
            case ast.Expr(value=ast.Call(func=called)):
                actions["call"].append(_quote(called))
            case ast.Raise(exc=error):
                actions["raise"].append(_quote(error.func if isinstance(error, ast.Call) else error))
            case ast.Return(value=value):
                actions["give back"].append(_quote(value) if value else "nothing")
    parts = [f"{verb} {_join(list(dict.fromkeys(names))[:_MAX_NAMES])}" for verb, names in actions.items() if names]
    return ", ".join(parts) or "do nothing more"


def _quote(node: ast.expr | None) -> str:
    if isinstance(node, ast.Tuple):
        return ", ".join(_quote(item) for item in node.elts) or "`()`"
    text = "" if node is None else _unparse(node)
    return f"`{text}`" if 0 < len(text) <= _MAX_QUOTE and "\n" not in text and "`" not in text else _name(node)


def _name(node: ast.expr | None) -> str:
    called = _unparse(node.func) if isinstance(node, ast.Call) else ""
    return f"the result of `{called}`" if 0 < len(called) <= _MAX_QUOTE and "`" not in called else "the expression"


def _unparse(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except ValueError:  # before Python 3.12 a backslash cannot be written inside the braces of an f-string
        return ""


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
