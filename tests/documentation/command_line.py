"""Would the command line take this? Asked of the parser itself; nothing is run."""

import functools

from typer.main import get_command

from dlbench.cli import app
from tests.documentation.pages import split_commands

whole = functools.cache(lambda: get_command(app))


def follow(words: list[str]):
    """The command that the words name, its context, the words that are left for it, and its name."""
    command, context, rest = whole(), None, words
    while True:
        name = getattr(command, "name", "") or "dlbench"
        if not hasattr(command, "list_commands") or not rest or rest[0] not in command.list_commands(context):
            return command, context, rest, name
        context = command.make_context(name, list(rest), parent=context, resilient_parsing=True)
        command, rest = command.get_command(context, rest[0]), rest[1:]


def parse(line: str) -> None:
    """Raises what the command line would say."""
    for words in split_commands(line):
        command, context, rest, name = follow(words[1:])
        made = command.make_context(name, list(rest), parent=context)
        if hasattr(command, "resolve_command") and rest and not rest[0].startswith("-"):
            command.resolve_command(made, rest)
