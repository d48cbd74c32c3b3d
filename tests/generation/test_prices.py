"""A price is known or unknown, never guessed; the user's table overrides ours."""

from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.generation.budget import _OURS, FREE, Budget, Price, _read, find_price
from dlbench.generation.providers import presets


def test_our_table_is_valid_and_names_known_providers() -> None:
    prices = _read(_OURS)
    assert {name.partition("/")[0] for name in prices} <= presets().keys()
    assert all(0 < price.input <= price.output for price in prices.values())


def test_prices_are_per_million_tokens() -> None:
    assert Price(2.0, 8.0).of(1_000_000, 0) == 2.0
    assert Price(2.0, 8.0).of(500_000, 250_000) == 3.0
    assert Budget(price=Price(2.0, 8.0)).cost_of({"prompt_tokens": 500_000, "completion_tokens": 250_000}) == 3.0


def test_user_table_overrides_and_extends_ours(tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text('["openai/gpt-4o"]\ninput = 1\noutput = 2\n["mine"]\ninput = 0.5\noutput = 0.5\n')
    assert find_price("gpt-4o", table) == find_price("openai/gpt-4o", table) == Price(1, 2)
    assert find_price("mine", table) == Price(0.5, 0.5)
    assert find_price("openai/gpt-4o-mini", table) == find_price("openai/gpt-4o-mini")


def test_unknown_model_has_no_price_and_local_server_is_free() -> None:
    assert find_price("groq/nobody-knows") is None
    assert find_price("vllm/anything") == FREE
    assert Budget(price=None).cost_of({"prompt_tokens": 5, "completion_tokens": 5}) is None
    assert Budget(price=Price(1, 1)).cost_of({"prompt_tokens": 5}) is None


@pytest.mark.parametrize("cost", [float("nan"), -1.0, float("inf"), True, "0.1"])
def test_invalid_reported_cost_is_ignored(cost: object) -> None:
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0, "cost": cost}
    assert Budget(price=Price(2.0, 8.0)).cost_of(usage) == 2.0


@pytest.mark.parametrize(
    "text",
    ['["m"]\ninput = 1\n', '["m"]\ninput = -1\noutput = 1\n', '["m"]\ninput = nan\noutput = 1\n', "m = 3\n", "[m\n"],
)
def test_invalid_table_is_named(text: str, tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text(text)
    with pytest.raises(DLBenchError) as caught:
        find_price("m", table)
    assert str(table) in caught.value.where
    assert "input = " in caught.value.fix


def test_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(DLBenchError, match="cannot be read"):
        find_price("m", tmp_path / "none.toml")
