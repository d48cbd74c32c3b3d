"""How is a model asked whose answers somebody has already?

They stand in a file of samples, as `run` writes it and `evaluate` reads it. What is asked for and not there is an
error: an empty answer in its place would be scored.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlbench.dataset.prompt_context import fenced
from dlbench.errors import DLBenchError
from dlbench.generation.conversation import read_record
from dlbench.generation.model import Answer, Model, Request
from dlbench.jsonl import read_lines
from dlbench.runs.samples import OriginCheck

PREFIX = "file:"


class FileModel(Model):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[tuple[str, int], dict[str, Any]] = {}
        self._counts: Counter[str] = Counter()
        origin = OriginCheck()
        for number, record in read_lines(path):
            origin.check(record, f"{path}:{number}")
            match record:
                case {"earlier_turns": turns} if turns and not _are_turns(turns):
                    raise DLBenchError(
                        '"earlier_turns" is not a list of answers',
                        where=f"{path}:{number}",
                        fix='write "earlier_turns": [{"answer": "raw text of the model"}], or leave it out',
                    )
                case {"instance": str(instance), "answer": str()} | {"instance": str(instance), "code": str()}:
                    self._keep(instance, record, number)
                case _:
                    raise DLBenchError(
                        'it has no "instance" with an "answer" or "code"',
                        where=f"{path}:{number}",
                        fix='write {"instance": "project/name", "sample": 0, "answer": "raw text of the model"}',
                    )

    @property
    def name(self) -> str:
        return f"{PREFIX}{self._path.name}"

    async def answer(self, request: Request) -> Answer:
        record = self._known.get((request.instance_id, request.sample))
        if record is None:
            raise DLBenchError(
                f"holds no sample {request.sample} of {request.instance_id}",
                where=str(self._path),
                fix="add it, ask for fewer --samples, or choose the instances that are there with --instance",
            )
        earlier = record.get("earlier_turns") or []
        said = earlier[request.turn] if request.turn < len(earlier) else record
        answer = replace(read_record(said), seconds=0.0)  # nobody was waited for
        if not isinstance(said.get("answer"), str):
            answer = replace(answer, text=fenced(said["code"]))
        # The record's usage is of all its turns; told with each of them, it would be counted twice.
        return replace(answer, usage=_usage(record) if request.turn == len(earlier) else {})

    def _keep(self, instance: str, record: dict[str, Any], number: int) -> None:
        sample = record.get("sample", self._counts[instance])
        self._counts[instance] += 1
        if (instance, sample) in self._known:
            raise DLBenchError(
                f"sample {sample} of {instance} is given twice",
                where=f"{self._path}:{number}",
                fix='number the samples of an instance with "sample": 0, 1, 2, …',
            )
        self._known[instance, sample] = record


def _usage(record: Mapping[str, Any]) -> dict[str, Any]:
    """With the cost, which a run writes beside it and which only the file knows."""
    usage, cost = read_record(record).usage, record.get("cost")
    return usage if cost is None else {"cost": cost} | usage


def _are_turns(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("answer"), str) for one in value
    )
