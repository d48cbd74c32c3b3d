"""What have the few-shot techniques in common? All but the choice of their examples.

Examples stand before the question as turns already answered, so that the form of an answer is shown along with its
content.

Examples drawn from the whole benchmark: do examples help at all?

Examples of the pipeline stage that the asked instance is labelled with.

A user has no labels; what this gives is the most that examples by predicted stage can reach with a perfect predictor.

Examples of the pipeline stage that is predicted from the prompt: what a user without labels can do.

Examples of the asked instance's own project: its habits, its helpers, its names.

Examples of any project but the asked instance's own: what is left of the help when the project's habits are gone.

What would somebody have thought before writing this function?

A retelling made by a program: what is given, then a sentence for each statement of the body, the assignments of one run
together. It stands in for thoughts written by a person, which nobody has, and quotes no more code than names and short
conditions.

Examples that think aloud before they answer, and a question that asks for the same.

Nobody has written thoughts for the instances. They are made by a program from each example's solution, so they say what
it does in which order, and not why.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence

from dlbench.dataset.prompt_context import fenced
from dlbench.dataset.target import find_body, is_prose, parse_function
from dlbench.generation.model import Message
from dlbench.generation.prompt import closing, describe
from dlbench.generation.techniques.base import (
    THINKING_SYSTEM,
    Choice,
    Example,
    Examples,
    Question,
    Technique,
    Turns,
    show,
    system,
    task_of,
    thoughtful_closing,
    user,
)


def render_few_shot(question: Question, shots: Sequence[Example]) -> Turns:
    return [[system(), *show(shots), user(task_of(question), closing(question.instance))]]


def choose_random(examples: Examples) -> Choice:
    return Choice(tuple(examples.draw(lambda other: True)))


FEW_SHOT_RANDOM = Technique("few-shot-random", "examples drawn at random", render_few_shot, choose_random)


def choose_same_stage(examples: Examples) -> Choice:
    stage = examples.asked.labels.stage
    return Choice(tuple(examples.draw(lambda other: other.labels.stage == stage)))


FEW_SHOT_SAME_STAGE = Technique(
    "few-shot-same-stage", "examples of the stage it is labelled with", render_few_shot, choose_same_stage
)


def choose_predicted_stage(examples: Examples) -> Choice:
    stage = examples.predict_stage()
    shots = examples.draw(lambda other: other.labels.stage == stage)
    return Choice(tuple(shots), {"predicted_stage": str(stage)})


FEW_SHOT_PREDICTED_STAGE = Technique(
    "few-shot-predicted-stage",
    "examples of the stage predicted from its prompt",
    render_few_shot,
    choose_predicted_stage,
)


def choose_same_project(examples: Examples) -> Choice:
    return Choice(tuple(examples.draw(lambda other: other.project == examples.asked.project)))


FEW_SHOT_SAME_PROJECT = Technique(
    "few-shot-same-project", "examples of the same project", render_few_shot, choose_same_project
)


def choose_other_projects(examples: Examples) -> Choice:
    return Choice(tuple(examples.draw(lambda other: other.project != examples.asked.project)))


FEW_SHOT_OTHER_PROJECTS = Technique(
    "few-shot-other-projects", "examples of other projects", render_few_shot, choose_other_projects
)


_LONGEST = 60
_MOST_NAMES = 4


def retell(solution: str) -> str:
    function = parse_function(solution)
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given = [f"`{argument.arg}`" for argument in every if argument.arg not in ("self", "cls")]
    steps = [f"I am given {_list(given)}." if given else "I am given no arguments.", *_tell(find_body(function))]
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def _tell(statements: Iterable[ast.stmt]) -> Iterator[str]:
    run: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            run.append(statement)
            continue
        if run:
            yield f"I {_deeds(run)}."
            run = []
        yield from _tell_one(statement)
    if run:
        yield f"I {_deeds(run)}."


def _tell_one(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            yield f"Where {_quote(test)}, I {_deeds(body)}."
            if orelse:
                first, *rest = _tell(orelse)
                yield f"Otherwise: {first}"
                yield from rest
        case ast.For(target=target, iter=over) | ast.AsyncFor(target=target, iter=over):
            yield f"For each {_quote(target)} of {_quote(over)}, I {_deeds(statement.body)}."
        case ast.While(test=test, body=body):
            yield f"As long as {_quote(test)}, I {_deeds(body)}."
        case ast.With() | ast.AsyncWith():
            yield f"Inside {_list([_quote(item.context_expr) for item in statement.items])}, I go on as follows."
            yield from _tell(statement.body)
        case ast.Try():
            yield from _tell(statement.body)
            yield "I deal with the errors that this can raise."
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield f"I need a helper `{name}`."
        case ast.Return() | ast.Raise() | ast.Expr() if not is_prose(statement):
            yield f"I {_deeds([statement])}."


def _deeds(statements: Sequence[ast.stmt]) -> str:
    """What a run of statements does, however deep: names it sets, what it calls for effect, how it ends."""
    deeds: dict[str, list[str]] = {"work out": [], "call": [], "raise": [], "give back": []}
    for node in (node for statement in statements for node in ast.walk(statement)):
        match node:
            case ast.Assign(targets=targets):
                deeds["work out"] += [_quote(target) for target in targets]
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                deeds["work out"].append(_quote(target))
            case ast.Expr(value=ast.Call(func=called)):
                deeds["call"].append(_quote(called))
            case ast.Raise(exc=error):
                deeds["raise"].append(_quote(error.func if isinstance(error, ast.Call) else error))
            case ast.Return(value=value):
                deeds["give back"].append(_quote(value) if value else "nothing")
    said = [f"{verb} {_list(list(dict.fromkeys(names))[:_MOST_NAMES])}" for verb, names in deeds.items() if names]
    return ", ".join(said) or "do nothing more"


def _quote(node: ast.expr | None) -> str:
    if isinstance(node, ast.Tuple):
        return ", ".join(_quote(item) for item in node.elts) or "`()`"
    text = "" if node is None else _unparse(node)
    return f"`{text}`" if 0 < len(text) <= _LONGEST and "\n" not in text and "`" not in text else _name(node)


def _name(node: ast.expr | None) -> str:
    called = _unparse(node.func) if isinstance(node, ast.Call) else ""
    return f"the result of `{called}`" if 0 < len(called) <= _LONGEST and "`" not in called else "the expression"


def _unparse(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except ValueError:  # before Python 3.12, what needs a backslash cannot be written between an f-string's braces
        return ""


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def render_few_shot_chain_of_thought(question: Question, shots: Sequence[Example]) -> Turns:
    messages: list[Message] = [system(THINKING_SYSTEM)]
    for shot in shots:
        messages.append(user(describe(shot.instance, shot.signature, ""), thoughtful_closing(shot)))
        messages.append({"role": "assistant", "content": f"{retell(shot.solution)}\n\n{fenced(shot.solution)}"})
    return [[*messages, user(task_of(question), thoughtful_closing(question))]]


FEW_SHOT_CHAIN_OF_THOUGHT = Technique(
    "few-shot-cot", "random examples that think before they answer", render_few_shot_chain_of_thought, choose_random
)
