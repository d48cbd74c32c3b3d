"""The data of a page: a short record of each instance for the list, and a bundle that is read when it is opened.

A report of thirteen thousand candidates must open at once. So candidates, outcomes and the reference are compressed in
one bundle per instance; equal candidates are stored once.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dlbench.dataset import AXES, Benchmark, Instance
from dlbench.dataset.prompt_context import render_skeleton
from dlbench.dataset.target import TargetError, find_target, render_signature, without_docstring
from dlbench.reporting.candidates import Candidates, find_difficulty
from dlbench.reporting.leaderboard.entry import spell_tests
from dlbench.runs.verdict import Status
from dlbench.scoring import Tally

ReadModule = Callable[[Instance], str | None]
"""The text of an instance's module, or None where its source is not on this machine."""

_OUR_MESSAGES = {Status.TIMEOUT, Status.NO_CODE, Status.SYNTAX_ERROR, Status.MISSING_TARGET, Status.TAMPERED}
"""Their messages are ours; those of other statuses may quote a project or its tests."""
_ERROR_NAME = re.compile(r"\b[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b")


@dataclass(frozen=True)
class Judged:
    """One run, as the page shows it."""

    verdicts: Mapping[str, Sequence[Mapping[str, Any]]]
    """By instance, in the order of samples."""
    candidates: Candidates


def describe_instance(
    instance: Instance, benchmark: Benchmark, tallies: Sequence[Mapping[str, Tally]]
) -> dict[str, Any]:
    """For the list: everything to filter and sort by."""
    project = benchmark.project_of(instance)
    return {
        "id": instance.id,
        **{axis: str(getattr(instance.labels, axis)) for axis in AXES},
        "project": instance.project,
        "framework": str(project.framework),
        "difficulty": find_difficulty(instance, tallies),
        "introduced": str(instance.introduced),
        "prompt": instance.prompt.strip(),
        "tests": len(instance.tests),
        "release": f"{project.version}, {project.license}",
        "path": instance.path,
        "measures": instance.measures.model_dump(exclude_none=True),
        "votes": instance.votes.model_dump(mode="json") if instance.votes else None,
    }


def read_reference(instance: Instance, read_module: ReadModule, *, public: bool) -> dict[str, str]:
    """Signature, skeleton and reference, or a note why they are missing; none of it on a public page."""
    if public:
        return {"note": "The project's own code is left out of a public page."}
    module = read_module(instance)
    if module is None:
        return {"note": f"The source of {instance.project} is not on this machine: dlbench prepare fetches it."}
    try:
        target = find_target(module, instance.qualname)
    except (SyntaxError, TargetError) as error:
        return {"note": f"The project's own code cannot be read: {error}"}
    if target.sha256 != instance.sha256:
        return {"note": "The source on this machine holds another version of the function."}
    return {
        "signature": render_signature(target.node),
        "skeleton": render_skeleton(target),
        "reference": "\n".join(line.removeprefix(target.indent) for line in without_docstring(target).split("\n")),
    }


def bundle_verdicts(instance: Instance, runs: Sequence[Judged], *, public: bool) -> dict[str, Any]:
    """All verdicts on an instance; each text is stored once in a list, and verdicts refer to it by index."""
    texts: dict[str, int] = {}

    def index_of(text: str) -> int:
        return texts.setdefault(text, len(texts))

    tests = list(instance.tests)
    judged = []
    for run in runs:
        rows = []
        for record in run.verdicts.get(instance.id, ()):
            candidate = run.candidates.get((instance.id, record["sample"]))
            errors = record.get("errors")
            row = {
                "sample": record["sample"],
                "status": record["status"],
                "outcomes": spell_tests(record["tests"], instance),
                "seconds": record["seconds"],
                "memory": record["memory_mb"],
            }
            is_ours = record["status"] in _OUR_MESSAGES
            if message := name_errors(record["message"]) if public and not is_ours else record["message"]:
                row["message"] = index_of(message)
            if isinstance(errors, dict):
                row["errors"] = {
                    tests.index(test): index_of(name_errors(error) if public else error)
                    for test, error in errors.items()
                    if test in tests and isinstance(error, str)
                }
            if candidate is not None:
                row |= {"text": index_of(candidate.text), "code": candidate.is_code, "cut": candidate.left_out}
            rows.append(row)
        judged.append(rows)
    return {"tests": tests, "runs": judged, "texts": list(texts)}


def name_errors(message: str) -> str:
    """Only the names of errors, where a message may quote a project."""
    return ", ".join(dict.fromkeys(_ERROR_NAME.findall(message)))
