"""Datasets of three forms are read alike; a missing reference is not an empty one."""

import gzip
import json

import pytest

from dlbench.analysis.corpora import read_corpora, read_corpus
from dlbench.analysis.official import find_files, read_files, repair_all, write_folder
from dlbench.errors import DLBenchError
from tests.analysis.official import write_official

LINE = {
    "prompt": "Shuffle rows.",
    "reference_code": "result = df.iloc[order]\n",
    "metadata": {"problem_id": 7, "library": "Pandas"},
}


def quiet(text):
    pass


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(LINE) + "\n")
    return path


@pytest.fixture
def official(tmp_path):
    write_official(tmp_path / "official", "toyhalve1.txt")
    write_official(tmp_path / "official", "toygone2.txt", function="gone")
    (tmp_path / "trees/Toy/src/toy").mkdir(parents=True)
    (tmp_path / "trees/Toy/src/toy/core.py").write_text("def halve(x):\n    return x / 2\n")
    return tmp_path / "official"


def test_benchmark_gives_prompts_labels_and_references(toy_root):
    corpus = read_corpus(str(toy_root), log=quiet)
    scale = next(item for item in corpus.items if item.id == "toy/toy.core.scale")
    assert corpus.name == "toys"
    assert scale.code.startswith("def scale(values")
    assert scale.labels == {"stage": "pre_post_processing", "task": "general", "data": "structured_array"}
    assert scale.group == "toy"


def test_without_code_no_source_is_fetched(toy_root):
    corpus = read_corpus(str(toy_root), with_code=False, log=pytest.fail)
    assert [item.code for item in corpus.items] == [None, None]


def test_jsonl_is_read_compressed_or_not(lines, tmp_path):
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    for path in (lines, packed):
        (item,) = read_corpus(str(path), log=quiet).items
        assert (item.id, item.group, item.prompt, item.code) == ("7", "Pandas", LINE["prompt"], LINE["reference_code"])
    assert read_corpus(str(packed), log=quiet).name == "packed"


def test_official_references_are_found_in_source_trees(official, tmp_path):
    with_trees = read_corpus(str(official), sources=tmp_path / "trees", log=quiet)
    assert {item.id: item.code for item in with_trees.items} == {
        "toy/toyhalve1": "def halve(x):\n    return x / 2",
        "toy/toygone2": None,
    }
    assert [item.code for item in read_corpus(str(official), log=quiet).items] == [None, None]


def test_imported_folder_equals_the_original_files(official, tmp_path):
    write_folder(repair_all(read_files(find_files(official))), tmp_path / "imported")
    corpora = [
        read_corpus(str(path), sources=tmp_path / "trees", log=quiet) for path in (official, tmp_path / "imported")
    ]
    first, second = ({item.id: item for item in corpus.items} for corpus in corpora)
    assert first == second


def test_dataset_can_be_named_and_names_must_differ(lines):
    assert read_corpus(f"DS={lines}", log=quiet).name == "DS"
    with pytest.raises(DLBenchError, match="two datasets"):
        read_corpora([str(lines), str(lines)], sources=None, log=quiet)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"", "the dataset is empty"),
        ("a.jsonl", b'{"prompt": "x"}\n', "`reference_code` is missing"),
        ("a.jsonl", b"\xff\xfe", "cannot be read"),
        ("a.jsonl.gz", b"not packed", "cannot be read"),
        ("a.jsonl.gz", gzip.compress(b"x" * 1000, mtime=0)[:20], "cannot be read"),
        ("a.csv", b"a,b", "not a known kind of dataset"),
    ],
    # Explicit ids: ids generated from bytes differ between workers.
    ids=["empty", "a line without code", "not text", "not packed", "packed and cut short", "another format"],
)
def test_unreadable_dataset_is_rejected(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DLBenchError, match=message):
        read_corpus(str(tmp_path / name), log=quiet)


def test_missing_file_and_missing_sources_are_reported(tmp_path, official):
    with pytest.raises(DLBenchError, match="no such file"):
        read_corpus(str(tmp_path / "gone"), log=quiet)
    with pytest.raises(DLBenchError, match="no such folder"):
        read_corpus(str(official), sources=tmp_path / "gone", log=quiet)
