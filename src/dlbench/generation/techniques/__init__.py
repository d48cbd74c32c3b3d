"""How is a model asked? Each technique is a small file behind one interface, found by its name."""

from dlbench.generation.techniques.asking import Asker, Settings
from dlbench.generation.techniques.interface import Conversation, Question, Shot, Technique
from dlbench.generation.techniques.names import TECHNIQUES, find_technique
from dlbench.generation.techniques.shelf import Shelf
from dlbench.generation.techniques.stages import KeptStages

__all__ = [
    "TECHNIQUES",
    "Asker",
    "Conversation",
    "KeptStages",
    "Question",
    "Settings",
    "Shelf",
    "Shot",
    "Technique",
    "find_technique",
]
