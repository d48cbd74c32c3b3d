"""One candidate in, one verdict out, in a new interpreter on the spliced file. This mode defines what a verdict is.

Slow, since every candidate pays for its imports, and plain: nothing of one execution can reach another. Faster modes
must agree with it.
"""

from dlbench.dataset import Instance
from dlbench.execution.candidate import Candidate, Engine
from dlbench.execution.confinement import open_cell
from dlbench.execution.launching import describe_candidate, describe_instance, describe_learning, describe_terms
from dlbench.execution.limits import allow_watching
from dlbench.execution.supervise import Watched, supervise
from dlbench.execution.terms import USUAL, Terms
from dlbench.workspace import Prepared


def run_fresh(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    candidate: Candidate | None,
    *,
    allowed: tuple[str, ...] = (),
    hides: bool = True,
    learn: bool = False,
    terms: Terms = USUAL,
) -> Watched:
    """`None` runs the reference where it stands, unspliced. `learn`: the reference's own questions are noted."""
    limits = terms.limit(engine.limits.for_instance(instance))
    source = candidate.spliced.source if candidate is not None else None
    ranges = candidate.spliced.ranges if candidate is not None else []
    watch = candidate is not None and (candidate.is_watched or terms.watched)
    classes = candidate.classes if candidate is not None else []
    job = describe_instance(prepared, terms.narrow(instance), hides=hides, shows_module=True)
    job |= describe_candidate(ranges=ranges, watch=watch, classes=classes, allowed=allowed)
    job |= describe_terms(terms)
    if learn:
        limits = allow_watching(limits)
        job |= describe_learning(engine.target_lines(prepared, instance))
    with open_cell(prepared, instance.path if source is not None else None, source, limits) as cell:
        return supervise(engine.confinement, cell, job)
