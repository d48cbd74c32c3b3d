"""Generate samples: model clients, prompting techniques, budgets and retries."""

from dlbench.generation.budget import FREE, Budget, Limits, find_price
from dlbench.generation.embedded import EmbeddedModel
from dlbench.generation.model import (
    Answer,
    Message,
    Model,
    ModelOptions,
    ReferenceModel,
    Request,
    StubModel,
    TransientError,
)
from dlbench.generation.openai_client import OpenAIModel
from dlbench.generation.retry import RateLimiter
from dlbench.generation.sampling import generate

__all__ = [
    "FREE", "Answer", "Budget", "EmbeddedModel", "Limits", "Message", "Model", "ModelOptions", "OpenAIModel",
    "RateLimiter", "ReferenceModel", "Request", "StubModel", "TransientError", "find_price", "generate",
]  # fmt: skip
