"""What does a model see of a variant?

The task in its words, and the signature and the skeleton of the class under its names: a prompt that says `f1` above a
signature that says `scale` would ask for two things.
"""

import ast
import copy
from collections.abc import Mapping

from dlbench.agreement.variant import Variant
from dlbench.dataset.records import Instance
from dlbench.dataset.target import Function, Target, find_target, render_signature
from dlbench.generation.techniques.base import Question, make_question
from dlbench.parsing import parse


def show_question(instance: Instance, source: str, variant: Variant, canary: str = "") -> Question:
    """As `read_question`, for any technique to put into words; `source`: the text of the instance's module.

    The instance in it is made up: it has the variant's names and words, and serves for nothing but showing.
    """
    module = parse(source)
    target = find_target(source, instance.qualname, module)
    _rename_in_place(module, target, variant)
    return make_question(show_instance(instance, variant), module, target, canary)


def show_instance(instance: Instance, variant: Variant) -> Instance:
    owner, dot, _ = instance.qualname.rpartition(".")
    qualname = f"{owner}{dot}{variant.function}"
    own = f"{instance.project}/{instance.module}.{qualname}"
    return instance.model_copy(update={"id": own, "qualname": qualname, "prompt": variant.task})


def show_signature(instance: Instance, source: str, variant: Variant) -> str:
    target = find_target(source, instance.qualname)
    return render_signature(rename_target(target.node, variant.function, variant.parameters))


def rename_target(node: Function, function: str, parameters: Mapping[str, str]) -> Function:
    """The same header under other names; what is below it stays as it is."""
    renamed = copy.copy(node)
    renamed.args = copy.deepcopy(node.args)
    renamed.name = function
    for argument in _list_arguments(renamed.args):
        argument.arg = parameters.get(argument.arg, argument.arg)
    return renamed


def _rename_in_place(module: ast.Module, target: Target, variant: Variant) -> None:
    """The target, what shares its name (overloads, a property's setter), and what the class says of it by name."""
    own = target.node.name
    for statement in (target.classes[-1] if target.classes else module).body:
        if isinstance(statement, Function) and statement.name == own:
            renamed = rename_target(statement, variant.function, variant.parameters)
            statement.name, statement.args = renamed.name, renamed.args
            spoken: list[ast.AST] = [*statement.decorator_list]
        else:
            spoken = [statement] if isinstance(statement, ast.Assign | ast.AnnAssign) else []
        for node in (inner for outer in spoken for inner in ast.walk(outer)):
            if isinstance(node, ast.Name) and node.id == own:
                node.id = variant.function
    if target.node.name == own:  # it stands in a branch
        renamed = rename_target(target.node, variant.function, variant.parameters)
        target.node.name, target.node.args = renamed.name, renamed.args


def _list_arguments(arguments: ast.arguments) -> list[ast.arg]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return every + [rest for rest in (arguments.vararg, arguments.kwarg) if rest is not None]
