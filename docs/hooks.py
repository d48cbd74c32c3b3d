"""How do pages that are written for GitHub become pages of the site, and which pages are made from elsewhere?

GitHub and mkdocs read Markdown differently: to mkdocs a list, table or fence right below a line of text is more text.
And the commands' options, the changes and the rules for contributors are written down once, outside of this folder;
copies of them would soon say something else.
"""

import re
import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"(```+|~~~+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    made = {
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        "contributing.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "]("),
        "reference/commands.md": describe_commands(),
    }
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def describe_commands() -> str:
    """Every command with its options, as `--help` says them."""
    asked = ["utils", "docs", "--name", "dlbench", "--title", "Commands"]
    command = [sys.executable, "-m", "typer", "dlbench.cli", *asked]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def on_page_markdown(markdown: str, **_: object) -> str:
    """Sets lists, tables and fences apart from the text around them."""
    lines: list[str] = []
    fence, above = "", ""
    for line in markdown.splitlines():
        mark = FENCE.match(line)
        kind = "fence" if mark else _kind_of(line)
        if not fence and kind != "text" and above not in ("", kind):
            lines.append("")
            above = ""
        lines.append(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
            lines.append("")
        above = "" if mark or not line.strip() else above or kind
    return "\n".join(lines) + "\n"


def _kind_of(line: str) -> str:
    """What a block is that begins with this line."""
    if re.match(r"([-*+]|1[.)])\s", line):
        return "list"
    return "table" if line.startswith("|") else "text"
