"""Verdict records survive a round trip, and malformed ones are rejected."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.errors import DLBenchError
from dlbench.runs.verdict import Outcome, Status, Verdict

VERDICTS = st.builds(
    Verdict,
    instance=st.text(),
    sample=st.integers(0, 9),
    status=st.sampled_from(Status),
    tests=st.dictionaries(st.text(), st.sampled_from(Outcome)),
    seconds=st.floats(0, 100),
    test_seconds=st.floats(0, 100),
    memory_mb=st.floats(0, 1e4),
    message=st.text(),
    sandbox=st.text(),
    mode=st.text(),
    answer_sha256=st.text(),
    extra=st.dictionaries(st.sampled_from(["truncated", "others"]), st.booleans()),
)
ODD = st.none() | st.integers() | st.text() | st.lists(st.integers()) | st.dictionaries(st.text(), st.integers())


@settings(max_examples=50)
@given(VERDICTS)
def test_fast_check_agrees_with_full_parsing(verdict):
    record = verdict.as_record()
    assert Verdict.check_record(record) == Verdict.from_record(record).as_record() == record


@settings(max_examples=200)
@given(VERDICTS, st.sampled_from(sorted(Verdict("", 0, Status.PASS, {}).as_record())), ODD, st.booleans())
def test_malformed_record_is_completed_or_rejected(verdict, key, value, is_missing):
    record = verdict.as_record() | {key: value}
    if is_missing:
        del record[key]
    try:
        slow = Verdict.from_record(record).as_record()
    except DLBenchError:
        with pytest.raises(DLBenchError, match="not a verdict"):
            Verdict.check_record(record)
    else:
        assert Verdict.check_record(record) == slow
