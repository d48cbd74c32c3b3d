"""Near copies of benchmark functions stay out of the training set."""

from training_set import find_near_copies

from dlbench.dataset import Benchmark
from tests.conftest import MODULE, find_target

OTHER = "def total(rows, start=0):\n    for row in rows:\n        start += sum(row) / len(row)\n    return start\n"


def test_copy_of_a_benchmark_function_is_found(toy: Benchmark) -> None:
    text = find_target(MODULE, "scale").text
    renamed = text.replace("scale", "enlarge").replace("values", "items").replace("value", "item")
    found = find_near_copies({"a/m.enlarge": renamed, "a/m.total": OTHER, "b/m.total": OTHER}, toy)
    assert found == {"a/m.enlarge": "toy/toy.core.scale", "b/m.total": "a/m.total"}
