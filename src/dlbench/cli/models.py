"""Which model does the user mean, and how far may asking it go?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.generation import Budget, Limits, Model
    from dlbench.generation.sources import Sources

COMMAND = "command"

ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        help="embedded, reference, stub, file:PATH, or a model of an OpenAI-compatible endpoint: openai/NAME, "
        "anthropic/NAME, openrouter/…, together/…, deepseek/…, mistral/…, groq/…, gemini/…, vllm/…, ollama/…, "
        "llamacpp/…, or NAME with --base-url (repeatable)."
    ),
]
CommandOption = Annotated[
    str | None,
    typer.Option(help="A program that reads a request as JSON and writes the answer; --model is then its name."),
]
BaseUrlOption = Annotated[str | None, typer.Option(help="Endpoint; else DLBENCH_BASE_URL or OPENAI_BASE_URL.")]
ApiKeyOption = Annotated[
    str | None, typer.Option(help="Key; better in the environment: OPENAI_API_KEY, GROQ_API_KEY, …, DLBENCH_API_KEY.")
]
ReasoningOption = Annotated[
    bool, typer.Option("--reasoning", help="Ask without a temperature, as models that think first want it.")
]
StreamOption = Annotated[
    bool, typer.Option("--stream", help="Have answers sent in pieces: a long one is then not taken for silence.")
]
RequestTimeoutOption = Annotated[
    float, typer.Option(min=0.1, help="Seconds that a request may take; with --stream, that may pass in silence.")
]
RetriesOption = Annotated[int, typer.Option(min=0, help="Tries after the first, where the trouble may pass.")]
MaxRequestsOption = Annotated[int | None, typer.Option(min=1, help="Most requests of the run, over all its starts.")]
MaxTokensTotalOption = Annotated[int | None, typer.Option(min=1, help="Most tokens of the run, prompts included.")]
MaxCostOption = Annotated[
    float | None,
    typer.Option(min=0.0, help="Most US dollars of the run, by the table of prices; with several models, of each."),
]
PricesOption = Annotated[Path | None, typer.Option(help="TOML file of prices that go before ours (docs/models.md).")]


def is_local(name: str) -> bool:
    """Whether no endpoint is asked under this name."""
    from dlbench.generation.file_model import PREFIX

    return name in {"embedded", "reference", "stub"} or name.startswith(PREFIX)


@dataclass(frozen=True)
class Opening:
    """How models are opened, whichever they are."""

    base_url: str | None = None
    api_key: str | None = None
    command: str | None = None
    timeout: float = 300.0
    stream: bool = False
    reasoning: bool = False
    concurrency: int = 4
    port: int = 0

    def names(self, given: list[str] | None) -> list[str]:
        if self.base_url and not given and not self.command:
            raise DLBenchError("no model of this endpoint is named", where="--base-url", fix="give --model NAME")
        names = list(dict.fromkeys(given or [COMMAND if self.command else "embedded"]))
        if self.command and len(names) > 1:
            fix = "give one --model, as the program's name, or none"
            raise DLBenchError("one program is asked under several names", where="--model-command", fix=fix)
        self._refuse_unused(names)
        return names

    def _refuse_unused(self, names: list[str]) -> None:
        """What none of the models can make use of is a misunderstanding: somebody else is asked than was meant."""
        kept: dict[str, object] = {"--port": self.port} if "embedded" not in names or self.command else {}
        if self.command or all(is_local(name) for name in names):
            kept |= {"--base-url": self.base_url, "--api-key": self.api_key}
            kept |= {"--stream": self.stream, "--reasoning": self.reasoning}
        if unused := [option for option, value in kept.items() if value]:
            who = "the program" if self.command else ", ".join(names)
            fix = "leave it out, or name a model that it is for"
            raise DLBenchError(f"{who} makes no use of {', '.join(unused)}", where=unused[0], fix=fix)

    def open(self, name: str, sources: "Sources | None") -> "Model":
        """Without sources there is neither `reference` nor `stub`."""
        from dlbench.cli.output import log
        from dlbench.generation import CommandModel, EmbeddedModel, FileModel, OpenAIModel, ReferenceModel, StubModel
        from dlbench.generation.file_model import PREFIX

        if self.command:
            return CommandModel(self.command, name, self.timeout)
        if name.startswith(PREFIX):
            return FileModel(Path(name.removeprefix(PREFIX)))
        match name:
            case "reference" if sources:
                return ReferenceModel(sources.reference)
            case "stub" if sources:
                return StubModel(sources.signature)
            case "embedded":
                return EmbeddedModel(self.concurrency, log, self.port)
        return OpenAIModel(
            name,
            self.base_url,
            self.api_key,
            timeout=self.timeout,
            stream=self.stream,
            reasoning=self.reasoning,
        )


def make_budget(model: "Model", name: str, limits: "Limits", prices: Path | None) -> "Budget":
    from dlbench.generation import Budget, CommandModel, FREE, FileModel, OpenAIModel, find_price

    price = find_price(name, prices)
    # A program can ask anybody, a file comes from anywhere; any other model that is no endpoint is on this machine.
    if price is None and not isinstance(model, OpenAIModel | CommandModel | FileModel):
        price = FREE
    return Budget(limits, price, name)


def tell_sampling(model: "Model", temperature: float, max_tokens: int) -> dict[str, float | int | None]:
    """What a run can say of how its answers were drawn; of a file's, it is not ours to say."""
    from dlbench.generation import FileModel, OpenAIModel

    if isinstance(model, FileModel):
        return {}
    refuses = isinstance(model, OpenAIModel) and model.endpoint.reasoning
    return {"temperature": None if refuses else temperature, "max_tokens": max_tokens}
