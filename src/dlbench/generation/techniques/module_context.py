"""Does it help to see more of the module? Zero-shot shows its imports and the skeleton of the method's class; this adds
the signatures of the module's other functions and classes. Never a body: it could hold the answer."""

from dlbench.generation.techniques.interface import Technique
from dlbench.generation.techniques.zero_shot import word

TECHNIQUE = Technique("module-context", "with the signatures of the module's neighbours", word, neighbours=True)
