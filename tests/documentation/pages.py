"""Parse documentation pages: fenced blocks with the reasons not to run them, code spans, headings and links.

A block is run unless the line before it says why not: `<!-- not run: needs a key -->`. Where that holds for some lines
only, words of those lines stand in quotes: `<!-- not run "gpt-4o": needs a key -->`; several such comments may follow
one another.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from pymdownx.slugs import slugify

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FRONT = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
SHELLS = ("sh", "bash", "console", "shell")

_BLOCK = re.compile(
    r"^(?P<excuses>(?: *<!--.*?-->\n)*)(?P<indent> *)(?P<fence>```+)(?P<language>\S*)[^\n]*\n(?P<text>.*?)^ *(?P=fence) *$",
    re.DOTALL | re.MULTILINE,
)
_EXCUSE = re.compile(r'<!-- not run(?: "(?P<words>[^"]+)")?: (?P<why>\S.*?) -->')


@dataclass(frozen=True)
class Block:
    where: str
    language: str
    lines: tuple[str, ...]
    excuses: tuple[tuple[str, str], ...]
    """Words of the lines that are not run (all of them where there are none), and why."""

    @property
    def is_shell(self) -> bool:
        return self.language in SHELLS

    @property
    def to_run(self) -> list[str]:
        return [line for line in self.lines if not any(words in line for words, _ in self.excuses)]


def name_page(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read_blocks(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        where = f"{name_page(path)}:{text.count(chr(10), 0, match.start('fence')) + 1}"
        lines = tuple(line.removeprefix(match["indent"]) for line in match["text"].replace("\\\n", "").splitlines())
        excuses = tuple((one["words"] or "", one["why"]) for one in _EXCUSE.finditer(match["excuses"]))
        found.append(Block(where, match["language"], lines, excuses))
    return found


def read_prose(path: Path) -> str:
    """The page without its blocks."""
    return _BLOCK.sub("", path.read_text(encoding="utf-8"))


def read_spans(path: Path) -> list[str]:
    return [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", read_prose(path))]


def read_links(path: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", read_prose(path)))


def name_anchors(path: Path) -> set[str]:
    """As the site names them, and GitHub too."""
    slug = slugify(case="lower")
    return {slug(heading, "-") for heading in re.findall(r"^#+ (.*)$", read_prose(path), re.MULTILINE)}


def split_commands(line: str) -> list[list[str]]:
    """The words of each command in a line of shell, without what it is redirected to."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    redirected = False
    for word in lexer:
        if set(word) <= set("|&;"):
            commands.append([])
        elif set(word) <= set("<>"):
            redirected = True
            continue
        elif not redirected:
            commands[-1].append(word)
        redirected = False
    return [command for command in commands if command]
