"""How does a stranger's text become a value of ours?

As one line that every reader of our files takes: a line break of a rarer kind would tear a line of JSON in two, and
half a surrogate pair could not be written at all.
"""


def one_line(text: object, most: int = 500) -> str:
    """Nothing for what is no text; long text is cut."""
    if not isinstance(text, str):
        return ""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
