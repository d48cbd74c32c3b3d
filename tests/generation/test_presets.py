"""A name means one endpoint, and a key goes to no other."""

import pytest

from dlbench.errors import DLBenchError
from dlbench.generation.providers import find_endpoint, presets

PROVIDERS = [name for name, preset in presets().items() if not preset.get("local")]
SERVERS = [name for name, preset in presets().items() if preset.get("local")]


@pytest.fixture(autouse=True)
def no_keys_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = [preset["key"] for preset in presets().values() if "key" in preset]
    for name in ("DLBENCH_BASE_URL", "DLBENCH_API_KEY", "OPENAI_BASE_URL", *variables):
        monkeypatch.delenv(name, raising=False)


def test_the_usual_ones_are_there() -> None:
    assert {"openai", "anthropic", "openrouter", "together", "deepseek", "mistral", "groq", "gemini"} <= {*PROVIDERS}
    assert {"vllm", "ollama", "llamacpp"} <= {*SERVERS}
    known = {"base_url", "key", "local", "limit", "seed", "reasoning", "body"}
    assert all(preset.keys() <= known for preset in presets().values())


@pytest.mark.parametrize("prefix", PROVIDERS)
def test_a_provider_gets_its_own_key_and_no_other(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, preset in presets().items():
        if "key" in preset:
            monkeypatch.setenv(preset["key"], f"key-of-{name}")
    endpoint = find_endpoint(f"{prefix}/some/model")
    assert (endpoint.model, endpoint.key) == ("some/model", f"key-of-{prefix}")
    assert endpoint.base_url == presets()[prefix]["base_url"]
    assert endpoint.base_url.startswith("https://")
    monkeypatch.setenv("DLBENCH_API_KEY", "general-key")
    assert find_endpoint(f"{prefix}/some/model").key == f"key-of-{prefix}"


@pytest.mark.parametrize("prefix", PROVIDERS)
def test_a_provider_without_its_key_is_refused_by_the_name_of_its_variable(
    prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = presets()[prefix]["key"]
    with pytest.raises(DLBenchError, match="no API key") as caught:
        find_endpoint(f"{prefix}/m")
    assert variable in caught.value.fix
    monkeypatch.setenv("DLBENCH_API_KEY", "general-key")
    assert find_endpoint(f"{prefix}/m").key == "general-key"


@pytest.mark.parametrize("prefix", SERVERS)
def test_a_server_of_ones_own_needs_no_key_and_gets_no_provider_s(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    endpoint = find_endpoint(f"{prefix}/org/model")
    assert (endpoint.model, endpoint.key, endpoint.local) == ("org/model", "", True)
    moved = find_endpoint(f"{prefix}/org/model", "http://box:9/v1")
    assert (moved.model, moved.base_url, moved.local) == ("org/model", "http://box:9/v1", True)


def test_with_a_base_url_a_provider_s_prefix_is_part_of_the_name() -> None:
    """Servers call models as their makers do: openai/gpt-oss-20b on one's own machine."""
    endpoint = find_endpoint("openai/gpt-oss-20b", "http://localhost:8000/v1")
    assert (endpoint.model, endpoint.base_url) == ("openai/gpt-oss-20b", "http://localhost:8000/v1")


def test_an_unknown_prefix_is_part_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    endpoint = find_endpoint("meta-llama/Llama")
    assert (endpoint.model, endpoint.base_url) == ("meta-llama/Llama", presets()["openai"]["base_url"])


@pytest.mark.parametrize(
    ("name", "reasoning"),
    [
        ("openai/o3-mini", True),
        ("o3", True),
        ("gpt-5-nano", True),
        ("openrouter/openai/o1", True),
        ("gpt-4o", False),
        ("groq/o3", False),
    ],
)
def test_models_that_refuse_a_temperature_are_known(
    name: str, reasoning: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLBENCH_API_KEY", "key")
    endpoint = find_endpoint(name)
    assert endpoint.reasoning is reasoning
    assert find_endpoint(name, reasoning=True).reasoning
    assert find_endpoint(name, reasoning=True).limit == "max_completion_tokens"


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://x/v1", "http://", "http://[::1/v1", "nothing", "/v1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(DLBenchError, match="not an http"):
        find_endpoint("m", url)


def test_a_key_with_the_end_of_its_line_is_understood_and_a_broken_one_is_not_shown() -> None:
    assert find_endpoint("m", "http://box/v1", " sk-key\n").key == "sk-key"
    for broken in ("sk-one\nsk-two", "sk-„quoted“"):
        with pytest.raises(DLBenchError, match="characters that no key has") as caught:
            find_endpoint("m", "http://box/v1", broken)
        assert "sk-" not in str(caught.value)
