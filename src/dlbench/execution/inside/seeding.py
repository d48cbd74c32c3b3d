"""Seed the random generators of the libraries that are imported."""

import random
import sys
from typing import Any


def seed_everything(seed: int = 0) -> None:
    random.seed(seed)
    modules: dict[str, Any] = sys.modules
    if "numpy" in modules:
        modules["numpy"].random.seed(seed)
    if "torch" in modules and hasattr(modules["torch"], "default_generator"):
        # torch.manual_seed imports torch's compiler first, which takes longer than most tests
        modules["torch"].default_generator.manual_seed(seed)
    if "tensorflow" in modules and hasattr(modules["tensorflow"], "random"):
        modules["tensorflow"].random.set_seed(seed)
