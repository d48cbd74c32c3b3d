"""A work folder as the earlier steps leave it, with a source tree."""

from pathlib import Path

from dlbench.construction import WorkFolder
from dlbench.construction.labelling.catalogue import ReadSource, read_catalogue, read_source
from dlbench.dataset.target import find_target

MODULES = {
    "melody": {
        "melody/steps.py": '''import numpy as np


def clip_by_norm(gradients, limit):
    """Shrinks all gradients together where their norm is above the limit."""
    norm = np.sqrt(sum(float((g * g).sum()) for g in gradients))  # over all of them
    if norm <= limit:
        return list(gradients)
    return [g * (limit / norm) for g in gradients]


class Meter:
    def share_right(self, guesses, truths):
        if len(guesses) != len(truths):
            raise ValueError(f"{len(guesses)} guesses for {len(truths)} truths")
        return sum(g == t for g, t in zip(guesses, truths)) / max(len(truths), 1)
''',
        "tests/test_steps.py": """import numpy as np
import pytest

from melody.steps import Meter, clip_by_norm


@pytest.mark.parametrize("limit", [1.0, 2.5])
def test_norm_is_at_most_the_limit(limit):
    clipped = clip_by_norm([np.full((2, 2), 3.0)], limit)
    assert np.isclose(np.linalg.norm(clipped[0]), limit)


def test_small_gradients_stay():
    assert clip_by_norm([np.zeros(3)], 1.0)[0].sum() == 0


class TestMeter:
    def test_half(self):
        assert Meter().share_right([1, 0], [1, 1]) == 0.5

    def test_lengths(self):
        with pytest.raises(ValueError):
            Meter().share_right([1], [])
""",
    },
    "prism": {
        "prism/flip.py": '''def flip_left_right(picture):
    """<script>window.hacked = true</script> <b>not bold</b>"""
    return picture[:, ::-1]
''',
        "tests/test_flip.py": """def test_twice_is_nothing(picture):
    pass
""",
    },
}
FUNCTIONS = {
    "melody/melody.steps.clip_by_norm": [
        "tests/test_steps.py::test_the_norm_is_at_most_the_limit[1.0]",
        "tests/test_steps.py::test_the_norm_is_at_most_the_limit[2.5]",
        "tests/test_steps.py::test_small_gradients_stay",
    ],
    "melody/melody.steps.Meter.share_right": [
        "tests/test_steps.py::TestMeter::test_half",
        "tests/test_steps.py::TestMeter::test_lengths",
    ],
    "prism/prism.flip.flip_left_right": ["tests/test_flip.py::test_twice_is_nothing"],
}
CLIP, SHARE, FLIP = FUNCTIONS


def make_trees(folder: Path) -> Path:
    for project, contents in MODULES.items():
        for name, text in contents.items():
            path = folder / project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return folder


def make_work(folder: Path) -> WorkFolder:
    work = WorkFolder(folder)
    for project, contents in MODULES.items():
        module, source = next(iter(contents.items()))
        functions, measured, drafts = [], [], []
        for key, tests in FUNCTIONS.items():
            if not key.startswith(f"{project}/"):
                continue
            qualname = key.removeprefix(f"{project}/{module.removesuffix('.py').replace('/', '.')}.")
            target = find_target(source, qualname)
            place = {"path": module, "qualname": qualname, "first": target.first, "last": target.last}
            loc = target.last - target.first + 1
            functions.append({"id": key, **place, "sha256": target.sha256, "signature": qualname + "(…)", "loc": loc})
            facts = {"mutants": 12, "killed": 11, "seconds": 0.2}
            measured.append({"id": key, "admissible": True, "tests": tests, **facts})
            drafts.append({"id": key, "prompt": f"Write {qualname}.", "by": "a-model"})
        functions.append({**functions[0], "id": f"{project}/weak"})
        measured.append({"id": f"{project}/weak", "admissible": False, "tests": []})
        work.write("functions", functions, project)
        work.write("measured", measured, project)
        work.write("drafts", drafts, project)
    return work


def read_from(work: WorkFolder, trees: Path) -> ReadSource:
    catalogue = read_catalogue(work)
    return lambda key: read_source(catalogue[key], trees / catalogue[key].project)
