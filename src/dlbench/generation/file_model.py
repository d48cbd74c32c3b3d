"""Take the answers from a file of samples, as `run` writes it and `evaluate` reads it.

A sample that the file lacks is an error: an empty answer in its place would be scored.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlbench.dataset.target import fenced
from dlbench.errors import DLBenchError
from dlbench.generation.conversation import read_record
from dlbench.generation.model import Answer, Model, ModelClient, ModelOptions, Request, add_client
from dlbench.jsonl import read_lines
from dlbench.runs.samples import OriginCheck, duplicate_sample

PREFIX = "file:"


class FileModel(Model):
    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = f"{PREFIX}{path.name}"
        self._records: dict[tuple[str, int], dict[str, Any]] = {}
        counts: Counter[str] = Counter()
        origin = OriginCheck()
        for number, record in read_lines(path):
            where = f"{path}:{number}"
            origin.check(record, where)
            match record:
                case {"earlier_turns": turns} if turns and not _are_turns(turns):
                    fix = 'write "earlier_turns": [{"answer": "raw text of the model"}], or remove it'
                    raise DLBenchError('"earlier_turns" is not a list of answers', where=where, fix=fix)
                case {"instance": str(instance), "answer": str()} | {"instance": str(instance), "code": str()}:
                    sample = record.get("sample", counts[instance])
                    counts[instance] += 1
                    if (instance, sample) in self._records:
                        raise duplicate_sample(instance, sample, where)
                    self._records[instance, sample] = record
                case _:
                    fix = 'write {"instance": "project/name", "sample": 0, "answer": "raw text of the model"}'
                    raise DLBenchError('no "instance" with an "answer" or "code"', where=where, fix=fix)

    def describe_sampling(self, temperature: float, max_tokens: int) -> dict[str, float | int | None]:
        """Nothing: how the answers were sampled is not known."""
        return {}

    async def answer(self, request: Request) -> Answer:
        record = self._records.get((request.instance_id, request.sample))
        if record is None:
            what = f"there is no sample {request.sample} of {request.instance_id}"
            fix = "add it, lower --samples, or choose the instances of the file with --instance"
            raise DLBenchError(what, where=str(self._path), fix=fix)
        earlier = record.get("earlier_turns") or []
        turn = earlier[request.turn] if request.turn < len(earlier) else record
        answer = replace(read_record(turn), seconds=0.0)  # nothing was waited for
        if not isinstance(turn.get("answer"), str):
            answer = replace(answer, text=fenced(turn["code"]))
        if request.turn != len(earlier):  # the record's usage covers all its turns, so it is reported with one of them
            return replace(answer, usage={})
        cost = record.get("cost")  # written beside the usage, and known only to the file
        return answer if cost is None else replace(answer, usage={"cost": cost} | answer.usage)


def _are_turns(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("answer"), str) for one in value
    )


def _open(name: str, options: ModelOptions) -> Model:
    return FileModel(Path(name.removeprefix(PREFIX)))


add_client(f"{PREFIX}*", ModelClient("file:PATH", "a file of samples", _open), order=4)
