"""Journals survive a kill: whole lines stay, a torn one is dropped, and two writers never mix."""

import json
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal, read_lines, rewrite


def test_torn_last_line_is_dropped(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 2}\n{"a": "\xc3')
    with Journal(path) as journal:
        assert journal.records() == [{"a": 1}, {"a": 2}]
        journal.append({"a": "é"})
    assert [record for _, record in read_lines(path)] == [{"a": 1}, {"a": 2}, {"a": "é"}]


def test_second_writer_is_rejected(tmp_path):
    with Journal(tmp_path / "j.jsonl"), pytest.raises(DLBenchError, match="another process"):
        Journal(tmp_path / "j.jsonl")


@pytest.mark.parametrize(
    "line", ["{", "[1]", "nonsense", '{"a": 1} {"b": 2}', "[" * 99999, '{"a": ' + "9" * 5000 + "}"]
)
def test_malformed_line_is_reported_with_its_number(tmp_path, line):
    path = tmp_path / "s.jsonl"
    path.write_text('{"ok": 1}\n\n' + line + "\n")
    with pytest.raises(DLBenchError) as caught:
        list(read_lines(path))
    assert caught.value.where.endswith("s.jsonl:3")


def test_line_separators_inside_strings_do_not_break_a_line(tmp_path):
    path = tmp_path / "j.jsonl"
    record = {"text": "a\u2028b\x0bc\x1cd\ne\rf and half a pair \ud800"}
    rewrite(path, [record])
    assert list(read_lines(path)) == [(1, record)]
    assert json.loads(path.read_text()) == record


@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ),
    )
)
def test_line_is_read_as_by_the_json_module(tmp_path_factory, record):
    path = tmp_path_factory.mktemp("lines") / "j.jsonl"
    line = json.dumps(record)
    path.write_text(line + "\n")
    ((_, found),) = read_lines(path)
    assert repr(found) == repr(json.loads(line))


@pytest.mark.parametrize(
    "line",
    ['{"a": "\\ud800"}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1, "a": 2}', '{"a": ' + "[" * 300 + "]" * 300 + "}"],
)
def test_line_that_only_the_json_module_accepts_is_read(tmp_path, line):
    path = tmp_path / "j.jsonl"
    path.write_text(line + "\n")
    assert repr(list(read_lines(path))) == repr([(1, json.loads(line))])


def test_failed_write_names_the_file_although_closing_fails_too(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(DLBenchError) as caught, Journal(tmp_path / "j.jsonl") as journal:
            journal.append({"text": "x" * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.where.endswith("j.jsonl")
