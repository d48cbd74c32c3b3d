"""Honest answers of several files to the toy component, in the forms that models use."""

import ast
import difflib
import json
import re
import tempfile
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

from dlbench.dataset.skeleton import cut_definitions
from dlbench.extraction.file_answer import Given
from tests.execution.file_task_toy import CORE, FILES, TABLES

CORE_PATH, TABLES_PATH = "toylib/core.py", "toylib/tables.py"
ASKED = (*(f"{CORE_PATH}::{name}" for name in ("Counter", "scale", "normalize", "clip")), f"{TABLES_PATH}::Table")


def give() -> Given:
    """What the toy component gives: its modules without the bodies that are asked for."""
    with tempfile.TemporaryDirectory() as name:
        for path, text in FILES.items():
            place = Path(name, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        base = {path: one.text for path, one in cut_definitions(Path(name), ASKED).items()}
    rest = {path: text for path, text in FILES.items() if path.startswith("toylib/")}
    return Given(rest | base, (CORE_PATH, TABLES_PATH), ASKED)


@dataclass(frozen=True)
class Shape:
    name: str
    text: str
    is_exact: bool = True
    """Whether the files must be those of the release, byte for byte but for the end."""


def fence(code: str, info: str = "python", mark: str = "```") -> str:
    return f"{mark}{info}\n{code.rstrip()}\n{mark}"


def diff(before: str, after: str, path: str, context: int = 3, prefix: str = "a/ b/") -> str:
    old, _, new = prefix.partition(" ")
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"{old}{path}", f"{new}{path}", lineterm="", n=context
    )
    return "\n".join(lines) + "\n"


def replacement(old: str, new: str) -> str:
    return f"<<<<<<< SEARCH\n{old.rstrip()}\n=======\n{new.rstrip()}\n>>>>>>> REPLACE\n"


def pair_hunks(before: str, after: str) -> list[tuple[str, str]]:
    """Old and new text of each change, each with two lines of context."""
    old, new = before.splitlines(), after.splitlines()
    found = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(2):
        first, last = group[0], group[-1]
        found.append(("\n".join(old[first[1] : last[2]]), "\n".join(new[first[3] : last[4]])))
    return found


def cut_out(source: str, *names: str) -> str:
    """The text of definitions at the top of a module."""
    tree = ast.parse(source)
    nodes = [node for node in tree.body if getattr(node, "name", "") in names]
    return "\n\n\n".join(ast.get_source_segment(source, node) or "" for node in nodes) + "\n"


def list_shapes() -> list[Shape]:
    given = give().texts
    core = given[CORE_PATH]
    both = {CORE_PATH: CORE, TABLES_PATH: TABLES}
    wrapped = json.dumps({"files": both}, indent=1)
    hunks = {path: pair_hunks(given[path], text) for path, text in both.items()}
    blocks = {path: "".join(replacement(*one) for one in pairs) for path, pairs in hunks.items()}
    diffs = {path: diff(given[path], text, path) for path, text in both.items()}
    core_names = ("scale", "normalize", "clip", "Counter")
    core_parts, table_part = cut_out(CORE, *core_names), cut_out(TABLES, "Table")
    whole = {
        "path in the info string": lambda path, code: fence(code, f"python {path}"),
        "path after a colon": lambda path, code: fence(code, f"python:{path}"),
        "path as the language": fence_path,
        "title in the info string": lambda path, code: fence(code, f'py title="{path}"'),
        "filename in the info string": lambda path, code: fence(code, f"python filename={path}"),
        "tildes": lambda path, code: fence(code, f"python {path}", "~~~"),
        "a comment first": lambda path, code: fence(f"# {path}\n{code}"),
        "a comment with a word": lambda path, code: fence(f"# File: {path}\n{code}"),
        "a heading": lambda path, code: f"### {path}\n\n{fence(code)}",
        "a heading in backticks": lambda path, code: f"#### `{path}`\n{fence(code)}",
        "a heading and prose": lambda path, code: f"## `{path}`\n\nAll bodies are written.\n\n{fence(code)}",
        "a numbered bold line": lambda path, code: f"1. **`{path}`**:\n\n{fence(code)}",
        "a line with a word": lambda path, code: f"File: {path}\n{fence(code, '')}",
        "a sentence": lambda path, code: f"Here is the new version of `{path}`:\n\n{fence(code)}",
        "only the name": lambda path, code: f"**{path.rpartition('/')[2]}**\n{fence(code)}",
        "a path of a workspace": lambda path, code: fence(code, f"python /workspace/repo/{path}"),
        "a path with a dot": lambda path, code: fence(code, f"python ./{path}"),
        "file tags": lambda path, code: f'<file path="{path}">\n{code}</file>',
        "file tags around fences": lambda path, code: f'<file name="{path}">\n{fence(code)}\n</file>',
        "path and content tags": lambda path, code: f"<path>{path}</path>\n<content>\n{code}</content>",
        "separators without fences": lambda path, code: f"=== {path} ===\n{code}\n",
    }
    shapes = [Shape(name, "\n\n".join(form(path, code) for path, code in both.items())) for name, form in whole.items()]
    prose = f"I write both modules.\n\n{shapes[0].text}\n\nRun the tests:\n\n```bash\npytest tests/test_core.py\n```\n"
    draft = fence("def scale(values, factor=2):\n    return values", "python toylib/core.py")
    commented = "".join(f"# {path}\n{code}\n\n" for path, code in both.items())
    shapes += [
        Shape("prose and commands around", prose),
        Shape("reasoning with a draft", f"<think>\n{draft}\n</think>\n{shapes[0].text}"),
        Shape("windows line endings", shapes[0].text.replace("\n", "\r\n")),
        Shape("both files in one block", fence(commented)),
        Shape("a draft, then the whole", f"{draft}\n\nThat forgets the factor. Corrected:\n\n{shapes[0].text}"),
        Shape("JSON by path", wrapped),
        Shape("JSON in a fence", f"The files:\n\n{fence(wrapped, 'json')}"),
        Shape("JSON without the outer key", json.dumps(both)),
        Shape("JSON list", json.dumps([{"path": path, "content": text} for path, text in both.items()])),
        Shape(
            "tool calls",
            "\n".join(
                json.dumps({"name": "write_file", "arguments": json.dumps({"file_path": path, "content": text})})
                for path, text in both.items()
            ),
        ),
        Shape(
            "JSON edits",
            json.dumps(
                {
                    "edits": [
                        {"path": path, "old_str": old, "new_str": new}
                        for path, pairs in hunks.items()
                        for old, new in pairs
                    ]
                }
            ),
        ),
        Shape("edits", "\n\n".join(f"{path}\n{fence(text)}" for path, text in blocks.items())),
        Shape("edits with the path inside", "\n\n".join(fence(f"{path}\n{text}") for path, text in blocks.items())),
        Shape("edits without fences", "\n\n".join(f"`{path}`\n{text}" for path, text in blocks.items())),
        Shape("edits without paths", "\n\n".join(fence(text) for text in blocks.values())),
        Shape(
            "edits with trailing spaces",
            "\n\n".join(
                f"{path}\n{fence(text.replace('NotImplementedError', 'NotImplementedError  '))}"
                for path, text in blocks.items()
            ),
        ),
        Shape("a diff for each file", "\n\n".join(fence(text, "diff") for text in diffs.values())),
        Shape(
            "one diff",
            fence(
                "".join(
                    f"diff --git a/{path} b/{path}\nindex 1a2b3c4..5d6e7f8 100644\n{text}"
                    for path, text in diffs.items()
                ),
                "diff",
            ),
        ),
        Shape("a diff without a fence", f"The patch:\n\n{diffs[CORE_PATH]}{diffs[TABLES_PATH]}"),
        Shape(
            "a diff without prefixes",
            fence("".join(diff(given[path], text, path, prefix=" ") for path, text in both.items()), "patch"),
        ),
        Shape("a diff with wrong counts", fence(miscount(diffs[CORE_PATH]) + miscount(diffs[TABLES_PATH]), "diff")),
        Shape("a diff without numbers", fence("".join(bare_ranges(text) for text in diffs.values()), "diff")),
        Shape(
            "diffs under headings",
            "".join(f"`{path}`\n{fence(text.split(chr(10), 2)[2], 'diff')}\n" for path, text in diffs.items()),
        ),
        Shape("a diff without blank context", fence("".join(diffs.values()).replace("\n \n", "\n\n"), "diff")),
        Shape("a patch of commands", fence(as_commands(diffs), "")),
        Shape("JSON with a diff", json.dumps({"patch": "".join(diffs.values())})),
        Shape(
            "whole file and edits",
            f"{fence(CORE, f'python {CORE_PATH}')}\n\n{TABLES_PATH}\n{fence(blocks[TABLES_PATH])}",
        ),
        Shape("whole file and a diff", f"### {TABLES_PATH}\n{fence(TABLES)}\n\n{fence(diffs[CORE_PATH], 'diff')}"),
    ]
    extra = core_parts.replace("value * factor + OFFSET", "_multiply(value, factor, OFFSET)")
    helper = "def _multiply(value, factor, offset):\n    return value * factor + offset\n\n\n"
    imported = CORE.replace("value * factor + OFFSET", "_multiply(value, factor, OFFSET)").replace(
        "import OFFSET", "import OFFSET\nfrom ._numbers import _multiply"
    )
    counter = cut_out(CORE, "Counter")
    methods = "class Counter:\n    # ... existing code ...\n" + counter.partition("\n")[2].partition("\n")[2]
    loose = [
        Shape(
            "definitions by path",
            f"{fence(core_parts, f'python {CORE_PATH}')}\n{fence(table_part, f'python {TABLES_PATH}')}",
        ),
        Shape("definitions without paths", f"{fence(core_parts)}\n\n{fence(table_part)}"),
        Shape("definitions in one block", fence(f"{core_parts}\n\n{table_part}")),
        Shape(
            "definitions in other order",
            fence(f"{table_part}\n\n{cut_out(CORE, 'Counter')}\n\n{cut_out(CORE, *core_names[:3])}"),
        ),
        Shape("whole modules without paths", f"{fence(CORE)}\n\n{fence(TABLES)}"),
        Shape("definitions without a fence", f"{core_parts}\n\n{table_part}"),
        Shape(
            "definitions in a sentence",
            f"In `{CORE_PATH}`:\n{fence(core_parts)}\nand in `{TABLES_PATH}`:\n{fence(table_part)}",
        ),
        Shape(
            "a helper and an example",
            fence(
                f"import numpy as np\n\n{helper}{extra}\n\n{table_part}\n\nif __name__ == '__main__':\n    print(scale([1]))\n"
            ),
        ),
        Shape(
            "an example with a side effect",
            f"{fence(core_parts)}\n{fence(table_part)}\n\nUsage:\n\n{fence('table = Table({1: 2})[3]')}",
        ),
        Shape(
            "new imports",
            fence(
                core_parts.replace("np.minimum", "xp.minimum").replace("np.maximum", "xp.maximum")
                + f"\n\nimport numpy as xp\n\n\n{table_part}"
            ),
        ),
        Shape(
            "elided methods",
            f"{fence(cut_out(CORE, *core_names[:3]))}\n{fence(methods)}\n{fence(table_part)}",
        ),
        Shape(
            "an elided file",
            f"{fence('# ... imports ...' + chr(10) * 3 + core_parts, f'python {CORE_PATH}')}\n{fence(table_part, f'python {TABLES_PATH}')}",
        ),
        Shape("JSON with code", json.dumps({"code": f"{core_parts}\n\n{table_part}"})),
        Shape(
            "a new module",
            "\n".join(
                fence(code, f"python {path}")
                for path, code in {
                    "toylib/_numbers.py": helper,
                    CORE_PATH: f"from ._numbers import _multiply\n\n\n{extra}",
                    TABLES_PATH: TABLES,
                }.items()
            ),
        ),
        Shape(
            "a new module in a diff",
            fence(
                diff("", helper, "toylib/_numbers.py").replace("--- a/toylib/_numbers.py", "--- /dev/null")
                + diff(core, imported, CORE_PATH)
                + diffs[TABLES_PATH],
                "diff",
            ),
        ),
        Shape(
            "shifted edits",
            "\n".join(f"{CORE_PATH}\n{fence(dedented(*one))}" for one in hunks[CORE_PATH])
            + f"\n{TABLES_PATH}\n{fence(blocks[TABLES_PATH])}",
        ),
        Shape(
            "bare methods",
            f"{fence(cut_out(CORE, *core_names[:3]))}\n{fence(bare_methods(counter))}\n{fence(table_part)}",
        ),
        Shape("two spaces", fence(core_parts.replace("    ", "  ")) + "\n" + fence(table_part.replace("    ", "  "))),
        Shape(
            "a test file too",
            f"{shapes[0].text}\n{fence('def test_scale():' + chr(10) + '    assert True', 'python tests/test_new.py')}",
        ),
    ]
    return [*shapes, *(replace(one, is_exact=False) for one in loose)]


def fence_path(path: str, code: str) -> str:
    return fence(code, path)


def miscount(text: str) -> str:
    return re.sub(r"^@@ -(\d+),\d+ \+(\d+),\d+ @@", r"@@ -\g<1>,3 +\g<2>1,4 @@", text, flags=re.MULTILINE)


def bare_ranges(text: str) -> str:
    return "\n".join("@@" if line.startswith("@@") else line for line in text.split("\n"))


def as_commands(diffs: dict[str, str]) -> str:
    parts = []
    for path, text in diffs.items():
        parts.append(f"*** Update File: {path}\n" + "\n".join(bare_ranges(text).split("\n")[2:]))
    return "*** Begin Patch\n" + "".join(parts) + "*** End Patch\n"


def dedented(old: str, new: str) -> str:
    """An edit without the indentation that all its lines share."""
    lines = [line for line in f"{old}\n{new}".split("\n") if line.strip()]
    shared = min(len(line) - len(line.lstrip()) for line in lines)
    return replacement(*("\n".join(line[shared:] for line in text.split("\n")) for text in (old, new)))


def bare_methods(source: str) -> str:
    return textwrap.dedent(source.split('"""\n', 1)[1])
