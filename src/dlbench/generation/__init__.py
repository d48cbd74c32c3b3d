"""Ask a model, and take the code out of its answer."""

from dlbench.extraction import Extraction, extract
from dlbench.generation.answers_file import FileModel
from dlbench.generation.asking import Gate
from dlbench.generation.baselines import ReferenceModel, StubModel
from dlbench.generation.budget import Budget, BudgetSpent, Limits
from dlbench.generation.command import CommandModel
from dlbench.generation.embedded import EmbeddedModel
from dlbench.generation.models import Answer, Message, Model, Passing, Request
from dlbench.generation.openai_client import OpenAIModel
from dlbench.generation.prices import FREE, Price, find_price
from dlbench.generation.prompt import zero_shot
from dlbench.generation.sampling import generate

__all__ = [
    "FREE",
    "Answer",
    "Budget",
    "BudgetSpent",
    "CommandModel",
    "EmbeddedModel",
    "Extraction",
    "FileModel",
    "Gate",
    "Limits",
    "Message",
    "Model",
    "OpenAIModel",
    "Passing",
    "Price",
    "ReferenceModel",
    "Request",
    "StubModel",
    "extract",
    "find_price",
    "generate",
    "zero_shot",
]
