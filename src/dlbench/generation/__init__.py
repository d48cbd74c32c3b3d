"""Ask a model, and take the code out of its answer."""

from dlbench.generation.baselines import ReferenceModel, StubModel
from dlbench.generation.embedded import EmbeddedModel
from dlbench.generation.extract import Extraction, extract
from dlbench.generation.models import Answer, Message, Model, Request
from dlbench.generation.openai_client import OpenAIModel
from dlbench.generation.prompt import zero_shot
from dlbench.generation.sampling import generate

__all__ = [
    "Answer",
    "EmbeddedModel",
    "Extraction",
    "Message",
    "Model",
    "OpenAIModel",
    "ReferenceModel",
    "Request",
    "StubModel",
    "extract",
    "generate",
    "zero_shot",
]
