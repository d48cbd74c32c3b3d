"""mkdocs hooks: adapt Markdown written for GitHub and add pages that are generated from elsewhere.

mkdocs needs a blank line before a list, table or fence; GitHub does not. The command reference, the changelog and the
contributing guide have their source outside docs/.
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
    generated = {
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        "contributing.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "]("),
        "reference/commands.md": describe_commands(),
    }
    for name, text in generated.items():
        files.append(File.generated(config, name, content=text))
    return files


def describe_commands() -> str:
    """Render the help of every command as Markdown."""
    arguments = ["utils", "docs", "--name", "dlbench", "--title", "Commands"]
    command = [sys.executable, "-m", "typer", "dlbench.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put a blank line before lists, tables and fences."""
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
    """The kind of block that starts with this line."""
    if re.match(r"([-*+]|1[.)])\s", line):
        return "list"
    return "table" if line.startswith("|") else "text"
