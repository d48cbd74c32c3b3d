"""Find pieces of our prompts in a text that a model may have been trained on.

The measure is the longest run of tokens that a prompt shares with the text, ignoring case. Whole prompts seldom leak;
long runs do, and chance produces only short ones. The text is read line by line, so it may be large; runs may span
lines.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlbench.analysis.corpora import Item
from dlbench.errors import DLBenchError

SHORTEST = 8
"""Shorter runs are ignored: they occur by chance."""
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class SharedRun:
    id: str
    tokens: int
    """Length of the longest run; 0 if none has `SHORTEST` tokens."""
    share: float
    """Of the prompt's tokens."""
    line: int | None
    """The line of the text on which the run ends."""
    words: str
    """The first words of the run."""


def find_shared_runs(items: Sequence[Item], text: Path, shortest: int = SHORTEST) -> list[SharedRun]:
    """One per prompt, longest first."""
    prompts = [_TOKEN.findall(item.prompt) for item in items]
    longest = _match([[token.lower() for token in prompt] for prompt in prompts], _read_tokens(text), shortest)
    found = []
    for number, (item, prompt) in enumerate(zip(items, prompts, strict=True)):
        length, end, line = longest.get(number, (0, 0, None))
        words = " ".join(prompt[end - length : end][:12])
        found.append(SharedRun(item.id, length, length / max(1, len(prompt)), line, words))
    return sorted(found, key=lambda run: (-run.tokens, run.id))


def _match(
    prompts: Sequence[Sequence[str]], tokens: Iterable[tuple[str, int]], shortest: int
) -> dict[int, tuple[int, int, int | None]]:
    """By prompt: length of its longest run, its end in the prompt, and the line of the text."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for number, prompt in enumerate(prompts):
        for end in range(shortest, len(prompt) + 1):
            places[tuple(prompt[end - shortest : end])].append((number, end))
    longest: dict[int, tuple[int, int, int | None]] = {}
    window: deque[str] = deque(maxlen=shortest)
    running: dict[tuple[int, int], int] = {}
    for token, line in tokens:
        window.append(token)
        grown: dict[tuple[int, int], int] = {}
        for number, end in places.get(tuple(window), ()):
            length = running.get((number, end - 1), shortest - 1) + 1
            grown[number, end] = length
            if length > longest.get(number, (0, 0, None))[0]:
                longest[number] = length, end, line
        running = grown
    return longest


def _read_tokens(path: Path) -> Iterator[tuple[str, int]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                for token in _TOKEN.findall(line):
                    yield token.lower(), number
    except UnicodeDecodeError:
        raise DLBenchError("not UTF-8", where=str(path), fix="give a plain text file in UTF-8") from None
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
