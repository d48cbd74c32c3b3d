"""Does every instance keep to the rules that its benchmark was made by?

A benchmark states them in `rules.toml`; what it does not state is not asked for: a small one of somebody's own needs
neither votes nor prompts of forty words. That a label is what the votes of its own record say holds in all of them:
otherwise the record contradicts itself.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from dlbench.dataset.labels import AXES
from dlbench.dataset.loading import Benchmark, read_record
from dlbench.dataset.problems import Kind, Problem
from dlbench.dataset.records import Instance, Record, Votes
from dlbench.dataset.statistics import mutation_score

FILE = "rules.toml"
_FEWEST = 100
"""Of fewer instances, a project's share says nothing: every benchmark begins with one project."""

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
_Found = Iterator[tuple[Kind, str, str]]


class Rules(Record):
    """The least, and of prompts and projects also the most; defaults ask for nothing."""

    prompt_words: tuple[Count, Count] = (0, 1_000_000)
    votes: Count = 0
    """For each axis."""
    tests: Count = 0
    mutation_score: Share = 0
    project_share: Share = 1
    """Of all instances, where there are a hundred or more."""


def check_rules(benchmark: Benchmark) -> list[Problem]:
    problems: list[Problem] = []
    path = benchmark.root / FILE
    rules = (read_record(path, FILE, Rules, problems) if path.is_file() else None) or Rules()
    for instance in benchmark.instances.values():
        where = benchmark.files[instance.id].relative_to(benchmark.root).as_posix()
        found = (*_check_labels(instance), *_check_instance(instance, rules))
        problems += [Problem(kind, where, what, mend) for kind, what, mend in found]
    return problems + _check_shares(benchmark, rules)


def _check_labels(instance: Instance) -> _Found:
    given = instance.votes or Votes()
    for axis in AXES:
        votes, label = getattr(given, axis), getattr(instance.labels, axis)
        value, count = Counter(votes).most_common(1)[0] if votes else (label, 1)
        if 2 * count > len(votes):
            if label != value:
                what = f"{axis} is {label}, and {count} of {len(votes)} votes say {value}"
                yield Kind.LABEL_AGAINST_VOTES, what, "take the majority's label, or let annotators vote anew"
        elif not given.reason.strip():
            what = f"no majority for {axis} ({', '.join(votes)}), and no reason why it is {label}"
            yield Kind.TIE_WITHOUT_REASON, what, "write how it was settled into votes.reason"


def _check_instance(instance: Instance, rules: Rules) -> _Found:
    words, (least, most) = len(instance.prompt.split()), rules.prompt_words
    if not least <= words <= most:
        mend = "say what the tests check, and no more (docs/prompt-writing.md)"
        yield Kind.PROMPT_LENGTH, f"the prompt has {words} words, not {least} to {most}", mend
    for axis in AXES:
        votes = len(getattr(instance.votes, axis, ()))
        if votes < rules.votes:
            yield Kind.TOO_FEW_VOTES, f"{votes} votes for {axis}, fewer than {rules.votes}", "let annotators vote"
    if len(instance.tests) < rules.tests:
        what, mend = f"{len(instance.tests)} tests, fewer than {rules.tests}", "find more tests, or leave it out"
        yield Kind.TOO_FEW_TESTS, what, mend
    score = mutation_score(instance)
    if (score or 0) < rules.mutation_score:
        told = "no mutation score was measured" if score is None else f"the mutation score is {score:.2f}"
        mend = "choose tests that find more mistakes, measure it, or leave it out"
        yield Kind.WEAK_TESTS, f"{told}; {rules.mutation_score:g} or more is asked", mend


def _check_shares(benchmark: Benchmark, rules: Rules) -> list[Problem]:
    total = len(benchmark.instances)
    counts = Counter(instance.project for instance in benchmark.instances.values())
    return [
        Problem(
            Kind.PROJECT_TOO_LARGE,
            f"instances/{project}",
            f"{count} of {total} instances are of {project}, more than {rules.project_share:.0%}",
            "leave some out, or add instances of other projects",
        )
        for project, count in counts.items()
        if total >= _FEWEST and count > rules.project_share * total
    ]
