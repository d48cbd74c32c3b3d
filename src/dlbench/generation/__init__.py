"""Generate samples: model clients, prompting techniques, budgets and retries."""

from dlbench.generation.budget import FREE, Budget, BudgetSpent, Limits, Price, find_price
from dlbench.generation.clients import ModelOptions
from dlbench.generation.command_model import CommandModel
from dlbench.generation.embedded import EmbeddedModel
from dlbench.generation.file_model import FileModel
from dlbench.generation.model import Answer, Message, Model, ReferenceModel, Request, StubModel, TransientError
from dlbench.generation.openai_client import OpenAIModel
from dlbench.generation.retry import RateLimiter
from dlbench.generation.sampling import generate

__all__ = [
    "FREE",
    "Answer",
    "Budget",
    "BudgetSpent",
    "CommandModel",
    "EmbeddedModel",
    "FileModel",
    "Limits",
    "Message",
    "Model",
    "ModelOptions",
    "OpenAIModel",
    "Price",
    "RateLimiter",
    "ReferenceModel",
    "Request",
    "StubModel",
    "TransientError",
    "find_price",
    "generate",
]
