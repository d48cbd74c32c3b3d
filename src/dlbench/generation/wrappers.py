"""Is the code packed into something that is not Markdown?

Models that were asked for structure elsewhere answer in HTML or between tags of their own. What is inside is an answer
like any other: it is unpacked and read again. Markup inside fenced code is the code's own, and stays.
"""

import re

from dlbench.dataset.prompt_context import fenced

_TAGS = "pre|code|answer|solution|python|response|output|result|final_answer|implementation|function|completion"
_TAG_PAIR = re.compile(
    rf"<(?P<tag>{_TAGS})(?:\s[^<>\n]*)?>(?:[ \t]*\n)?(?P<tagged>.*?)[ \t]*</(?P=tag)\s*>"
    r"|\[(?P<bracket>PYTHON|CODE|ANSWER|SOLUTION)\](?:[ \t]*\n)?(?P<bracketed>.*?)[ \t]*\[/(?P=bracket)\]"
    r"|^'''(?:python3?|py)[ \t]*\n(?P<quoted>.*?)\n'''[ \t]*$"
    r"|\\begin\{(?P<env>lstlisting|verbatim|minted)\}(?:\[[^\]\n]*\])?(?:\{\w*\})?[ \t]*\n(?P<listing>.*?)\n"
    r"[ \t]*\\end\{(?P=env)\}",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_DEEPEST = 8


def unpack_tags(text: str) -> str:
    """The text with code between tags put into fences; a text that has fences is left as it is."""
    if "```" in text or "~~~" in text:
        return text
    for _ in range(_DEEPEST):  # `<pre><code>` is one inside the other
        changed = _TAG_PAIR.sub(_inside, text)
        if changed == text:
            break
        text = changed
    return text


def _inside(found: re.Match[str]) -> str:
    code = found["tagged"] or found["bracketed"] or found["quoted"] or found["listing"] or ""
    if found["tag"] and "\n" not in code.strip() and not re.match(r"\s*(?:def|import|from|class|@)\b", code):
        return f"{code}" if found["tag"].lower() in {"code", "function", "output", "result"} else f"\n{code}\n"
    return f"\n{fenced(code.strip(chr(10)), '')}\n" if "```" not in code else f"\n{code}\n"
