"""The model `mutant`: the project's own code with one small change, an example of an answer that is almost right."""

import ast

from dlbench.dataset.target import fenced
from dlbench.extraction.syntax import dedent
from dlbench.generation.model import Answer, Model, ModelClient, ModelOptions, ReferenceModel, Request, add_client
from dlbench.parsing import parse
from dlbench.validation.mutants import write_mutants


class MutantModel(ReferenceModel):
    name = "mutant"

    async def answer(self, request: Request) -> Answer:
        """The reference itself if nothing in it can be changed."""
        reference = dedent(self._source_of(request.instance_id))
        function = parse(reference).body[0]
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        mutants = write_mutants(function, 1, request.seed or 0)
        return Answer(fenced(mutants[0][1] if mutants else reference))


def _open(name: str, options: ModelOptions) -> Model:
    assert options.sources is not None  # `dlbench run` passes them; no other command loads this module
    return MutantModel(options.sources.reference)


add_client("mutant", ModelClient("mutant", "the project's own code with one change: almost right", _open), order=4)
