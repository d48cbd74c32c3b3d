"""One candidate in, one verdict out, in fresh mode: the definition of a verdict."""

from dlbench.dataset import Instance
from dlbench.execution.candidate import Candidate, Engine
from dlbench.execution.fresh import run_fresh
from dlbench.execution.judging import judge_by
from dlbench.execution.rehearsal import rehearse
from dlbench.execution.supervise import Watched
from dlbench.execution.terms import USUAL, Terms
from dlbench.runs.verdict import Verdict
from dlbench.workspace import Prepared


def judge(
    engine: Engine, prepared: Prepared, instance: Instance, code: str | None, sample: int = 0, terms: Terms = USUAL
) -> Verdict:
    """`None` judges the reference where it stands, unspliced."""
    facts = rehearse(engine, prepared, instance)

    def run(candidate: Candidate | None) -> Watched:
        return run_fresh(engine, prepared, instance, candidate, allowed=facts.allowed, hides=facts.hides, terms=terms)

    return judge_by(engine, prepared, terms.narrow(instance), code, sample, run)
