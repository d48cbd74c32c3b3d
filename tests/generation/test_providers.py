"""A model's name means one client and one endpoint, and a key is sent to no other."""

import pytest

from dlbench.errors import DLBenchError
from dlbench.generation import ModelOptions, OpenAIModel, StubModel
from dlbench.generation.command_model import CommandModel
from dlbench.generation.model import CLIENTS, ModelClient, add_client, describe_clients
from dlbench.generation.providers import find_endpoint, presets

PROVIDERS = [name for name, preset in presets().items() if not preset.get("local")]
SERVERS = [name for name, preset in presets().items() if preset.get("local")]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = [preset["key"] for preset in presets().values() if "key" in preset]
    for name in ("DLBENCH_BASE_URL", "DLBENCH_API_KEY", "OPENAI_BASE_URL", *variables):
        monkeypatch.delenv(name, raising=False)


def test_common_providers_are_known() -> None:
    assert {"openai", "anthropic", "openrouter", "together", "deepseek", "mistral", "groq", "gemini"} <= {*PROVIDERS}
    assert {"vllm", "ollama", "llamacpp"} <= {*SERVERS}
    known = {"base_url", "key", "local", "limit", "seed", "reasoning", "body"}
    assert all(preset.keys() <= known for preset in presets().values())


@pytest.mark.parametrize("prefix", PROVIDERS)
def test_provider_gets_only_its_own_key(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_missing_key_is_named_by_its_variable(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = presets()[prefix]["key"]
    with pytest.raises(DLBenchError, match="no API key") as caught:
        find_endpoint(f"{prefix}/m")
    assert variable in caught.value.fix
    monkeypatch.setenv("DLBENCH_API_KEY", "general-key")
    assert find_endpoint(f"{prefix}/m").key == "general-key"


@pytest.mark.parametrize("prefix", SERVERS)
def test_local_server_needs_no_key_and_gets_none(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    endpoint = find_endpoint(f"{prefix}/org/model")
    assert (endpoint.model, endpoint.key) == ("org/model", "")
    moved = find_endpoint(f"{prefix}/org/model", "http://box:9/v1")
    assert (moved.model, moved.base_url) == ("org/model", "http://box:9/v1")


def test_base_url_makes_the_prefix_part_of_the_name() -> None:
    """Local servers use names such as openai/gpt-oss-20b."""
    endpoint = find_endpoint("openai/gpt-oss-20b", "http://localhost:8000/v1")
    assert (endpoint.model, endpoint.base_url) == ("openai/gpt-oss-20b", "http://localhost:8000/v1")


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
def test_models_that_reject_a_temperature_are_known(
    name: str, reasoning: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLBENCH_API_KEY", "key")
    endpoint = find_endpoint(name)
    assert endpoint.reasoning is reasoning
    assert find_endpoint(name, reasoning=True).reasoning
    assert find_endpoint(name, reasoning=True).limit == "max_completion_tokens"


def test_a_name_of_no_provider_is_not_taken_for_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "some-key")
    with pytest.raises(DLBenchError, match=r"(?s)no provider 'foo'.*--base-url.*openai, anthropic"):
        find_endpoint("foo/bar")
    assert find_endpoint("foo/bar", "http://box/v1").model == "foo/bar"


def test_the_endpoint_is_named_before_it_is_asked(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "some-key")
    lines = []
    ModelOptions().open("gpt-4o", log=lines.append)
    assert lines == ["sending the requests for gpt-4o to https://api.openai.com/v1"]


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://x/v1", "http://", "http://[::1/v1", "nothing", "/v1"])
def test_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(DLBenchError, match="not an HTTP") as caught:
        find_endpoint("m", url)
    assert "localhost://" not in str(caught.value)


def test_key_is_stripped_and_an_invalid_key_is_not_shown() -> None:
    assert find_endpoint("m", "http://box/v1", " sk-key\n").key == "sk-key"
    for broken in ("sk-one\nsk-two", "sk-„quoted“"):
        with pytest.raises(DLBenchError, match="invalid characters") as caught:
            find_endpoint("m", "http://box/v1", broken)
        assert "sk-" not in str(caught.value)


def test_registered_client_is_opened_and_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call adds a client: no list elsewhere names it."""
    monkeypatch.setattr(CLIENTS, "_members", {pattern: (100, client) for pattern, client in CLIENTS.items()})
    client = ModelClient("echo:TEXT", "the text itself", lambda name, options: StubModel(lambda _: name))
    add_client("echo:*", client, order=0)
    assert isinstance(ModelOptions().open("echo:hello"), StubModel)
    assert describe_clients().startswith("echo:TEXT, ")
    with pytest.raises(DLBenchError, match="echo:hello does not use --port"):
        ModelOptions(port=4000).names(["echo:hello"])


def test_names_are_resolved_to_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBENCH_API_KEY", "key")
    assert isinstance(ModelOptions(command="cat").open("groq/x"), CommandModel)
    assert all(isinstance(ModelOptions().open(name), OpenAIModel) for name in ("groq/x", "x", "command"))
    with pytest.raises(DLBenchError, match="reference needs the sources"):
        ModelOptions().open("reference")
    with pytest.raises(DLBenchError, match="no such file"):
        ModelOptions().open("file:missing.jsonl")
