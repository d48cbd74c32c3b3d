"""Options that choose a model, its sampling, and bound its requests, shared by all commands that ask one."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.generation import Budget, Model

CommandOption = Annotated[
    str | None,
    typer.Option(help="A program that reads a request as JSON and prints the answer; --model is then its name."),
]
BaseUrlOption = Annotated[str | None, typer.Option(help="Endpoint; default: DLBENCH_BASE_URL or OPENAI_BASE_URL.")]
ApiKeyOption = Annotated[
    str | None, typer.Option(help="API key; better set OPENAI_API_KEY, GROQ_API_KEY, … or DLBENCH_API_KEY.")
]
RequestTimeoutOption = Annotated[
    float, typer.Option(min=0.1, help="Seconds per request; with --stream, seconds of silence.")
]
RetriesOption = Annotated[int, typer.Option(min=0, help="Further attempts after a transient error.")]
MaxRequestsOption = Annotated[int | None, typer.Option(min=1, help="Limit on requests, over all starts of the run.")]
MaxCostOption = Annotated[
    float | None,
    typer.Option(min=0.0, help="Limit on US dollars of the run by the price table; with several models, for each."),
]
PricesOption = Annotated[Path | None, typer.Option(help="TOML file of prices that override ours (docs/models.md).")]

# Fields of a request that other options set, or that would change the form of the reply.
_OWN_FIELDS = {"model", "messages", "n", "stream", "stream_options", "temperature", "top_p", "seed"}
_OWN_FIELDS |= {"max_tokens", "max_completion_tokens", "reasoning_effort"}
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e]+)")


@dataclass(frozen=True)
class SamplingOptions:
    """What is sent with every request, beside the prompt."""

    PLACE: ClassVar = 0
    temperature: Annotated[float, typer.Option(min=0.0)] = 0.0
    top_p: Annotated[
        float | None, typer.Option(min=0.001, max=1.0, help="Nucleus sampling (default: the endpoint's own).")
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Limit on completion tokens, reasoning included. Default: 32768 for models that are known to reason"
            " (--reasoning, --reasoning-effort, or listed in providers.toml), 1024 for embedded, 16384 for all others."
            " Prompt and completion must fit the model's context.",
        ),
    ] = None
    reasoning_effort: Annotated[
        str | None, typer.Option(help="Effort of a reasoning model: low, medium, high, or another that it accepts.")
    ] = None
    extra_body: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Further fields of every request, as a JSON object. Stored with the run."),
    ] = None
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="Further HTTP header (repeatable); its value is not stored."),
    ] = None

    def describe(self) -> dict[str, Any]:
        """Those of the settings in the run's configuration that are passed; of headers, only the names."""
        found: dict[str, Any] = {"top_p": self.top_p, "reasoning_effort": self.reasoning_effort}
        found |= {"extra_body": self.read_extra_body(), "headers": sorted(self.read_headers())}
        return {name: value for name, value in found.items() if value}

    def read_extra_body(self) -> dict[str, Any]:
        try:
            body = json.loads(self.extra_body or "{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            fix = """write it as '{"top_k": 20}'"""
            raise DLBenchError("the value is not a JSON object", where="--extra-body", fix=fix)
        if own := sorted(_OWN_FIELDS & body.keys()):
            fix = "remove them; --temperature, --top-p, --max-tokens, --seed and others set such fields"
            raise DLBenchError(f"cannot set {', '.join(own)}", where="--extra-body", fix=fix)
        return body

    def read_headers(self) -> dict[str, str]:
        """Errors do not show the text, which may be a key."""
        found = [_HEADER.fullmatch(one.strip()) for one in self.header or ()]
        if None in found:
            fix = "write --header 'Name: value', in printable ASCII"
            raise DLBenchError("the value is not NAME: VALUE", where="--header", fix=fix)
        return {one[1]: one[2] for one in found if one}


@dataclass(frozen=True)
class BudgetOptions:
    PLACE: ClassVar = 0
    max_requests: MaxRequestsOption = None
    max_tokens_total: Annotated[
        int | None, typer.Option(min=1, help="Limit on tokens of the run, prompts included.")
    ] = None
    max_cost: MaxCostOption = None
    prices: PricesOption = None

    def open(self, model: "Model", name: str) -> "Budget":
        from dlbench.generation import FREE, Budget, Limits, find_price

        limits = Limits(self.max_requests, self.max_tokens_total, self.max_cost)
        return Budget(limits, find_price(name, self.prices) or (FREE if model.is_free else None), name)
