"""Named definitions of a newer module are put onto an older one, and nothing else changes."""

import pytest

from dlbench.dataset.merge import compose, divide, find_changes

OLD = '''"""An old module."""
from lib import used

# about scale
def scale(x):
    return used(x)


class Model(
    object,
):
    """A model."""

    size: int = 1

    # about run
    def run(self):
        return self.size

    @property
    def name(self):
        return "old"

    @name.setter
    def name(self, value):
        pass


def gone():
    pass


__all__ = ["scale", "Model", "gone"]
LIMIT = 3
'''
NEW = '''"""A new module, with another docstring."""
from lib import used, unneeded
from .more import helper

# about scale, reworded
def scale(x):
    """What it does."""
    return used(x)


def rescale(x):
    return helper(x)


class Model(
    object,
):
    """A model."""

    size: int = 2

    # about run
    def run(self):
        return self.size + 1

    @property
    def name(self):
        return "new"

    @name.setter
    def name(self, value):
        pass

    def stop(self):
        return LIMIT


class Other:
    kind = "other"

    def run(self):
        return rescale(self.kind)


__all__ = ["scale", "rescale", "Model", "Other"]
LIMIT = 4
'''
CHANGED = {"Model.size", "Model.run", "Model.name", "Model.stop", "rescale", "Other", "gone", "LIMIT"}


def put(*taken: str, imports: tuple[str, ...] = ()) -> str:
    return compose(divide(OLD), divide(NEW), taken, imports)


def run(text: str) -> dict[str, object]:
    names: dict[str, object] = {"used": abs, "helper": str, "unneeded": None}
    plain = "\n".join(line for line in text.split("\n") if not line.startswith("from "))
    exec(compile(plain, "module", "exec"), names)
    return names


def test_comments_docstrings_and_imports_are_no_changes() -> None:
    assert find_changes(divide(OLD), divide(NEW)) == CHANGED


def test_without_anything_taken_the_module_stays() -> None:
    assert put() == OLD


def test_everything_taken_behaves_as_the_newer_module() -> None:
    names = run(put(*CHANGED))
    assert names["Model"]().run() == 3  # type: ignore[operator]
    assert "gone" not in names
    assert names["__all__"] == ["scale", "Model", "rescale", "Other"]


@pytest.mark.parametrize(
    ("taken", "there", "not_there"),
    [
        ("Model.run", "return self.size + 1", "size: int = 2"),
        ("Model.stop", "def stop", "return self.size + 1"),
        ("Model.name", 'return "new"', "LIMIT = 4"),
        ("Other", "return rescale(self.kind)", "def rescale"),
        ("LIMIT", "LIMIT = 4", "def stop"),
    ],
)
def test_one_unit_is_taken_alone(taken: str, there: str, not_there: str) -> None:
    text = put(taken)
    assert there in text
    assert not_there not in text
    assert "# about run" in text
    run(text)


def test_a_new_member_stands_inside_its_class() -> None:
    assert run(put("Model.stop"))["Model"]().stop() == 3  # type: ignore[operator]


def test_imports_that_are_asked_for_come_along() -> None:
    text = put("rescale", imports=("helper",))
    assert "from .more import helper" in text
    assert "unneeded" not in text
    assert run(text)["rescale"](1) == "1"  # type: ignore[operator]
