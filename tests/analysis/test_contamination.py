"""The longest run that a prompt shares with a text is found."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.analysis.corpora import Item
from dlbench.analysis.divergence import find_shared_runs
from dlbench.errors import DLBenchError

PROMPT = "Write a function that halves every value of a tensor and returns the halves as a list."


def make(*prompts):
    return [Item(str(number), prompt, None, "", {}) for number, prompt in enumerate(prompts)]


def test_run_may_span_lines_and_ignores_case(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Before.\nPlease write a Function that\nhalves every value of a tensor, if you can.\n")
    (run,) = find_shared_runs(make(PROMPT), text)
    assert (run.tokens, run.line) == (10, 3)
    assert run.words == "Write a function that halves every value of a tensor"
    assert run.share == pytest.approx(10 / 18)


def test_short_run_is_ignored(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Write a function that halves nothing.")
    (run,) = find_shared_runs(make(PROMPT), text)
    assert (run.tokens, run.line) == (0, None)


def test_longest_run_comes_first(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(PROMPT)
    runs = find_shared_runs(make("Nothing in common at all, in any place of it.", PROMPT), text)
    assert [(run.id, run.share) for run in runs] == [("1", 1.0), ("0", 0.0)]


@pytest.mark.parametrize(
    ("content", "message"), [(b"\xff\xfe", "not UTF-8"), (None, "cannot be read")], ids=["odd", "gone"]
)
def test_unreadable_text_is_rejected(tmp_path, content, message):
    if content:
        (tmp_path / "text").write_bytes(content)
    with pytest.raises(DLBenchError, match=message):
        find_shared_runs(make(PROMPT), tmp_path / "text")


@settings(max_examples=60)
@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30))
def test_result_equals_exhaustive_search(tmp_path_factory, prompt, text):
    path = tmp_path_factory.mktemp("runs") / "text"
    path.write_text("\n".join(text))
    (run,) = find_shared_runs(make(" ".join(prompt)), path, shortest=2)
    runs = {tuple(text[start:end]) for end in range(len(text) + 1) for start in range(end)}
    longest = max(
        (end - start for end in range(len(prompt) + 1) for start in range(end) if tuple(prompt[start:end]) in runs),
        default=0,
    )
    assert run.tokens == (longest if longest >= 2 else 0)
