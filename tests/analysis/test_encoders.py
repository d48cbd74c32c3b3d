"""Encoders are found by name, encode a text once, and report clear errors."""

import json

import numpy as np
import pytest

from dlbench.analysis.embeddings import EndpointEncoder, encode_all, open_encoder
from dlbench.errors import DLBenchError
from tests.analysis.encoders import Letters, write_bert
from tests.generation.endpoint import Endpoint, refusal


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "home"))


def embeddings(_, body):
    """Reversed: an endpoint may answer in any order."""
    rows = [{"index": place, "embedding": [len(text), 1.0]} for place, text in enumerate(body["input"])]
    return 200, {"Content-Type": "application/json"}, json.dumps({"data": rows[::-1]})


def test_no_text_is_encoded_twice_and_rows_match_texts():
    first = Letters()
    vectors = encode_all(first, ["ab", "b", "ab"])
    assert sorted(first.encoded) == ["ab", "b"]
    second = Letters()
    again = encode_all(second, ["b", "ab", "c"])
    assert second.encoded == ["c"]
    assert np.array_equal(again[:2], vectors[[1, 0]])
    assert again[2][2] == 1


def test_progress_counts_every_text_once():
    counted = []
    encode_all(Letters(), ["a", "b"], counted.append)
    encode_all(Letters(), ["a", "b", "c", "c"], counted.append)
    assert len(counted) == 2 + 4


def test_interruption_costs_at_most_one_batch():
    texts = [chr(97 + number % 26) * (1 + number // 26) for number in range(70)]
    with pytest.raises(KeyboardInterrupt):
        encode_all(Letters(stop_after=64), texts)
    rest = Letters()
    encode_all(rest, texts)
    assert len(rest.encoded) == 70 - 64


def test_damaged_store_is_reported(tmp_path):
    encode_all(Letters(), ["a"])
    (path,) = (tmp_path / "home/vectors").glob("*.sqlite")
    path.write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(DLBenchError, match="vector store"):
        encode_all(Letters(), ["a"])


def test_endpoint_vectors_have_unit_length():
    with Endpoint(embeddings) as endpoint:
        encoder = open_encoder("any/name", endpoint.url, "secret-key-of-mine")
        vectors = encoder.encode(["a", "abc"])
    assert endpoint.requests[0]["model"] == "any/name"
    assert endpoint.headers[0]["authorization"] == "Bearer secret-key-of-mine"
    assert np.allclose(vectors, [[0.5**0.5, 0.5**0.5], [3 / 10**0.5, 1 / 10**0.5]])


def test_busy_endpoint_is_retried():
    with Endpoint(lambda number, body: embeddings(number, body) if number else refusal(503, "busy")) as endpoint:
        assert len(EndpointEncoder("e", endpoint.url, pause=0).encode(["a"])) == 1
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    ("reply", "message", "requests"),
    [
        (refusal(401, "wrong key secret-key-of-mine"), "refused the API key", 1),
        ((200, {}, "hello"), "no embeddings", 1),
        ((200, {}, '{"data": []}'), "1 texts were sent", 1),
        (refusal(500, "broken"), "broken", 4),
    ],
    ids=["key", "not JSON", "too few", "always broken"],
)
def test_endpoint_errors_do_not_reveal_the_key(reply, message, requests):
    with (
        Endpoint(lambda number, body: reply) as endpoint,
        pytest.raises(DLBenchError, match=message) as caught,
    ):
        EndpointEncoder("e", endpoint.url, "secret-key-of-mine", pause=0).encode(["a"])
    assert len(endpoint.requests) == requests
    assert "secret-key" not in str(caught.value)


def test_unloadable_encoder_is_reported_with_alternatives(tmp_path):
    pytest.importorskip("sentence_transformers")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DLBenchError, match="cannot be loaded") as caught:
        open_encoder(str(tmp_path / "empty"))
    assert "minilm" in caught.value.fix


def test_fingerprint_depends_on_the_weights(tmp_path):
    pytest.importorskip("sentence_transformers")
    first, second = (open_encoder(str(write_bert(tmp_path / name, layers))) for name, layers in (("a", 1), ("b", 2)))
    vectors = first.encode(["train the optimizer", "image"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert first.fingerprint != second.fingerprint
