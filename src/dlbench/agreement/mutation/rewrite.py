"""Does it matter in whose words the task is told? A model tells it anew; no rule could.

How is a model asked for other words, and not twice for the same?

Through the gate that every request goes through, with its budget, its ledger and its retries. What was answered is kept
in the workspace, one file an answer, under a hash of all that it depends on: a study that is started again gets the
same variants without asking.
"""

import hashlib
import json
import re
from pathlib import Path

from dlbench.agreement.mutation.base import Family, Operator
from dlbench.extraction.reasoning import without_reasoning
from dlbench.generation.conversation import as_record, read_record
from dlbench.generation.model import Message, Request
from dlbench.generation.retry import RateLimiter
from dlbench.jsonl import dump, write_whole
from dlbench.workspace.home import disk_errors, home, make_folder

REPHRASE = Operator(
    "rephrase",
    Family.GRAMMATICAL,
    "the whole task in a model's words",
    order="Say the whole text in other words and other sentences, as another programmer would.",
)


FOLDER = "wordings"
TEMPERATURE = 0.7

_SYSTEM = (
    "You reword descriptions of programming tasks without changing what they mean. Copy every piece of code in "
    "backticks, every quoted string, number, shape, name, type and axis exactly as it is. Keep every negation, and the "
    "order within each sentence. Add nothing and leave nothing out. Answer with the reworded text alone."
)
_FENCED = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_PREFACE = re.compile(r"\A(?:sure|certainly|of course|here)\b[^\n]*:[ \t]*\n+", re.IGNORECASE)
_CHARACTERS_A_TOKEN = 2


async def request_paraphrase(gate: RateLimiter, instance_id: str, order: str, text: str, number: int, seed: int) -> str:
    """`number` counts the requests of one instance; another `seed` is another request."""
    messages: list[Message] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": f"{order}\n\nThe text:\n\n{text}"},
    ]
    longest = max(256, len(text) // _CHARACTERS_A_TOKEN)
    request = Request(instance_id, number, messages, TEMPERATURE, longest, seed, notes={"technique": "mutation"})
    path = _place(gate.model.name, request)
    if path.is_file():
        return _read(path)
    answer = await gate.ask(request)
    record = {"model": gate.model.name, "instance": instance_id, "order": order, "seed": seed} | as_record(answer)
    with disk_errors(path):
        make_folder(path.parent)
        write_whole(path, dump(record))
    return _take_text(answer.text)


def _place(model: str, request: Request) -> Path:
    asked = json.dumps([model, request.messages, request.temperature, request.max_tokens, request.seed])
    digest = hashlib.sha256(asked.encode()).hexdigest()
    return home() / FOLDER / digest[:2] / f"{digest}.json"


def _read(path: Path) -> str:
    return _take_text(read_record(json.loads(path.read_text(encoding="utf-8"))).text)


def _take_text(answer: str) -> str:
    said, endless = without_reasoning(answer)
    text = _PREFACE.sub("", said.strip())
    fenced = _FENCED.match(text)
    return "" if endless else (fenced[1] if fenced else text).strip()
