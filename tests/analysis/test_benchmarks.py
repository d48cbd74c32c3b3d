"""A table of scores is read strictly and compared by the documented formulas."""

import pytest

from dlbench.analysis.rankings import compare_all, read_scores
from dlbench.errors import DLBenchError
from tests.scoring.test_against import DL_BENCH, DS_1000


@pytest.fixture
def write(tmp_path):
    def run(content):
        path = tmp_path / "scores.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return run


def test_papers_table_gives_recomputed_figures(write):
    rows = "".join(f"m{n},{here},{there}\n" for n, (here, there) in enumerate(zip(DL_BENCH, DS_1000, strict=True)))
    (found,) = compare_all(read_scores(write(f"model,DL-Bench,DS-1000\n{rows}")))
    assert (found.here, found.there, found.against.models) == ("DL-Bench", "DS-1000", 7)
    against = found.against
    assert (against.cohen_d, against.fisher_ratio, against.spearman) == pytest.approx((3.28, 5.38, 0.67), abs=0.005)


def test_percents_shares_and_a_byte_order_mark_are_read(write):
    percents = read_scores(write('\ufeffmodel,a,b\nx,50 %,25\n\n"y, z",10,5\n'))
    assert percents == {"a": {"x": 0.5, "y, z": 0.1}, "b": {"x": 0.25, "y, z": 0.05}}
    assert read_scores(write("model,a,b\nx,0.5,1\n"))["a"] == {"x": 0.5}


def test_value_with_percent_sign_is_a_percent(write):
    scores = read_scores(write("model,a,b\nx,0.5 %,30\ny,0.25%,0\n"))
    assert scores == {"a": {"x": 0.005, "y": 0.0025}, "b": {"x": 0.3, "y": 0.0}}
    assert read_scores(write("model,a,b\nx,0.5%,1%\n")) == {"a": {"x": 0.005}, "b": {"x": 0.01}}


def test_missing_score_affects_its_pairs_only(write):
    scores = read_scores(write("model,a,b,c\nx,10,20,30\ny,20,,40\n"))
    models = {(one.here, one.there): one.against.models for one in compare_all(scores)}
    assert models == {("a", "b"): 1, ("a", "c"): 2, ("b", "c"): 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a column of models"),
        ("model,a\nx,1\n", "a column of models"),
        ("model,a,a\nx,1,2\n", "distinct names"),
        ("model,a,\nx,1,2\n", "distinct names"),
        ("model,a,b\nx,1\n", "2 cells"),
        ("model,a,b\nx,one,2\n", "'one' is not a score"),
        ("model,a,b\nx,nan,2\n", "not a score"),
        ("model,a,b\nx,101,2\n", "not a score"),
        ("model,a,b\nx,1,2\nx,3,4\n", "occurs twice"),
        ("model,a,b\n,1,2\n", "no name"),
        ("model,a,b\n", "no score"),
        ("model,a,b\nx,0.5,50\n", "shares"),
        ("model,a,b\nx,31%,40%\ny,0.41,50%\n", "shares"),
        ('model,a,b\n"x,1,2\n', "not CSV"),
        ("modèle,a,b\n".encode("latin-1"), "not UTF-8"),
    ],
)
def test_invalid_table_is_rejected(write, content, message):
    with pytest.raises(DLBenchError, match=message):
        read_scores(write(content))
