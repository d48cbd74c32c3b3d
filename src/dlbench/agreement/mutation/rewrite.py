"""Ask a model to paraphrase a prompt, and cache its answers.

Requests go through the rate limiter, with its budget, request log and retries. Answers are kept in the workspace, one
file each, under a hash of everything they depend on: a study that is started again gets the same variants for free.
"""

import hashlib
import json
import re

from dlbench.agreement.mutation.base import OPERATORS, Family, Operator
from dlbench.extraction.reasoning import without_reasoning
from dlbench.generation.conversation import as_record, read_record
from dlbench.generation.model import Message, Request
from dlbench.generation.retry import RateLimiter
from dlbench.jsonl import dump, write_whole
from dlbench.workspace.home import disk_errors, home, make_folder

OPERATORS.add(
    "rephrase",
    Operator(
        "rephrase",
        Family.GRAMMATICAL,
        "the whole prompt in a model's own words",
        instruction="Say the whole text in other words and other sentences, as another programmer would.",
    ),
    order=9,
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
_CHARACTERS_PER_TOKEN = 2


async def request_paraphrase(
    limiter: RateLimiter, instance_id: str, instruction: str, text: str, number: int, seed: int
) -> str:
    """`number` counts the requests of one instance; another `seed` is another request."""
    messages: list[Message] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": f"{instruction}\n\nThe text:\n\n{text}"},
    ]
    max_tokens = max(256, len(text) // _CHARACTERS_PER_TOKEN)
    request = Request(instance_id, number, messages, TEMPERATURE, max_tokens, seed, notes={"technique": "mutation"})
    model = limiter.model.name
    key = json.dumps([model, request.messages, request.temperature, request.max_tokens, request.seed])
    digest = hashlib.sha256(key.encode()).hexdigest()
    path = home() / FOLDER / digest[:2] / f"{digest}.json"
    if path.is_file():
        return _read_text(read_record(json.loads(path.read_text(encoding="utf-8"))).text)
    answer = await limiter.ask(request)
    record = {"model": model, "instance": instance_id, "order": instruction, "seed": seed} | as_record(answer)
    with disk_errors(path):
        make_folder(path.parent)
        write_whole(path, dump(record))
    return _read_text(answer.text)


def _read_text(answer: str) -> str:
    visible, unfinished = without_reasoning(answer)
    text = _PREFACE.sub("", visible.strip())
    fenced = _FENCED.match(text)
    return "" if unfinished else (fenced[1] if fenced else text).strip()
