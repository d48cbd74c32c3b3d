"""Which numbers stand for a text? Encoders by name, and a store that keeps what they gave."""

from dlbench.analysis.encoders.naming import CODEBERT, MINILM, Encoder, open_encoder
from dlbench.analysis.encoders.store import encode_all

__all__ = ["CODEBERT", "MINILM", "Encoder", "encode_all", "open_encoder"]
