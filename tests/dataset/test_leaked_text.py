"""A prompt that quotes twelve words of the source is reported, unless a test requires them."""

from pathlib import Path

import pytest

from dlbench.dataset.leakage import find_leaks, find_run
from dlbench.dataset.loading import Kind
from dlbench.dataset.target import find_target
from dlbench.parsing import parse

MODULE = "Everything that turns the raw counts of a detector into rates which others can compare"
CLASS = "Keeps the counts of a detector together with the dead time that was measured for it"
OWN = "Gives the corrected rate per second for all channels of the detector at once as floats"
NEIGHBOUR = "Forgets all counts so that the next measurement begins with nothing in any of the channels"
COMMENT = ("the dead time eats a share of each", "second that grows with the rate itself")
MESSAGE = "the counts have to be whole numbers that are not negative, and channel "
REST = " has others: please look at the file that they were read from before you go on"
SOURCE = f'''"""{MODULE}."""

class Counts:
    """{CLASS}."""

    def rates(self, seconds):
        """{OWN}."""
        # {COMMENT[0]}
        # {COMMENT[1]}
        raise ValueError("{MESSAGE}" f"{{self.name}}{REST}")

    def forget(self):
        """{NEIGHBOUR}."""
'''
TARGET = find_target(SOURCE, "Counts.rates")


def find(prompt: str, *test_files: Path) -> list[Kind]:
    return [leak.kind for leak in find_leaks(prompt, parse(SOURCE), TARGET, test_files)]


def test_twelve_words_are_a_quotation_and_eleven_are_not():
    words = OWN.lower().split()
    assert len(find_run(" ".join(["So", *words[:12]]), OWN).split()) == 12
    assert find_run(" ".join([*words[:11], "otherwise"]), OWN) == ""
    assert find_run("anything", "") == ""


@pytest.mark.parametrize("text", [MODULE, CLASS, OWN, NEIGHBOUR])
def test_any_docstring_of_the_module_is_compared(text):
    assert find(f"Write it: {text}.") == [Kind.PROMPT_LEAKS_DOCSTRING]


def test_multi_line_comment_is_compared():
    assert find(f"Know that {' '.join(COMMENT)}.") == [Kind.PROMPT_LEAKS_DOCSTRING]


def write_test(folder: Path, text: str) -> Path:
    path = folder / "test_counts.py"
    path.write_text(f"import pytest\n\ndef test_counts():\n    with pytest.raises(ValueError, match={text}): ...\n")
    return path


def test_message_may_be_quoted_only_as_far_as_a_test_contains_it(tmp_path: Path):
    whole = write_test(tmp_path, f'f"{MESSAGE}{{name}}{REST}"')
    prompt = f'Else ValueError, "{MESSAGE}<its name>{REST}".'
    assert find(prompt, whole) == []
    part = write_test(tmp_path, '"the counts have to be whole numbers"')
    assert find(prompt, part) == [Kind.PROMPT_LEAKS_MESSAGE, Kind.PROMPT_LEAKS_MESSAGE]
    assert find('Else ValueError with "the counts have to be whole numbers".', part) == []


def test_test_code_outside_strings_does_not_permit_a_quotation(tmp_path: Path):
    path = tmp_path / "test_counts.py"
    path.write_text(f"# {MESSAGE}\n")
    assert find(f'ValueError, "{MESSAGE}..."', path) == [Kind.PROMPT_LEAKS_MESSAGE]


def test_without_tests_messages_are_not_compared():
    assert find_leaks(f"ValueError: {MESSAGE}", parse(SOURCE), TARGET) == []
