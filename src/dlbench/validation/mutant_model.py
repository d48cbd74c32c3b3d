"""The model `mutant`: the project's own code with one small change, an example of an answer that is almost right."""

import ast

from dlbench.dataset.target import fenced
from dlbench.extraction.syntax import dedent
from dlbench.generation.model import Model, ModelClient, ModelOptions, Request, WrittenModel, add_client
from dlbench.parsing import parse
from dlbench.validation.mutants import write_mutants


def _open(name: str, options: ModelOptions) -> Model:
    assert options.sources is not None  # `dlbench run` passes them; no other command loads this module
    source_of = options.sources.reference

    def write(request: Request) -> str:
        """The reference itself if nothing in it can be changed."""
        reference = dedent(source_of(request.instance_id))
        function = parse(reference).body[0]
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        mutants = write_mutants(function, 1, request.seed or 0)
        return fenced(mutants[0][1] if mutants else reference)

    return WrittenModel("mutant", write)


add_client("mutant", ModelClient("mutant", "the project's own code with one change: almost right", _open), order=4)
