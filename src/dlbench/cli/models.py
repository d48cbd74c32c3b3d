"""Options that choose a model and bound its requests, shared by all commands that ask one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

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
