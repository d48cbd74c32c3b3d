"""Imports go one way, no package has an import cycle, and the repository names no folder of a machine and no registry."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dlbench
from dlbench.workspace.pip_config import local_path, read_pip_config

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src"
LAYERS = [
    {"cli"},
    {"bridges"},
    {"service"},
    {"api"},
    {"reporting"},
    {"analysis"},
    {"agreement"},
    {"construction"},
    {"validation"},
    {"agents"},
    {"execution"},
    {"generation"},
    {"scoring"},
    {"extraction"},
    {"workspace", "runs"},
    {"dataset"},
    {"jsonl"},
    {"registry"},
    {"errors", "parsing"},
]
"""From top to bottom; a package imports only itself and the layers below it."""
MODULES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path for path in SRC.rglob("*.py")
}


@cache
def find_imports(module):
    """The modules of ours that `module` imports, at its top and inside functions, but not for typing alone."""
    path = MODULES[module]
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            for alias in node.names:
                found = f"{base}.{alias.name}"
                imported.append(found if found in MODULES else base)
        elif isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
    return imported


def layer_of(module):
    part = module.split(".")[1] if "." in module else ""
    return next((place for place, layer in enumerate(LAYERS) if part in layer), None)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_only_its_own_package_and_lower_layers(module):
    own = layer_of(module)
    for found in find_imports(module):
        other = layer_of(found)
        if own is not None and other is not None and found.split(".")[1] != module.split(".")[1]:
            assert other > own, f"{module} imports {found}"


def test_modules_do_not_import_each_other_in_a_circle():
    graph = {module: {found for found in find_imports(module) if found in MODULES} - {module} for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("name", dlbench.__all__)
def test_every_public_name_is_there(name):
    assert getattr(dlbench, name)


def test_dir_lists_the_public_names():
    assert set(dir(dlbench)) >= set(dlbench.__all__)


def test_every_package_has_a_layer():
    parts = {
        path.name.removesuffix(".py")
        for path in (SRC / "dlbench").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - {"__init__", "__main__"} == {part for layer in LAYERS for part in layer}


def test_no_tracked_file_names_a_machines_folder_or_a_registry():
    """Registries are put together from pieces, folders asked of the machine, so that this file names neither."""
    folders = [str(ROOT)]
    folders += [str(local_path(place)) for place in read_pip_config().find_links if local_path(place).is_absolute()]
    forbidden = ["pypi" + ".org", "python" + "hosted", "download." + "pytorch", *folders]
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        text = path.read_text(errors="replace") if path.is_file() else ""
        assert not [word for word in forbidden if word in text], name


def test_run_and_report_need_no_library_of_the_extras():
    """`make demo` installs no extra but the embedded model; a development environment has everything and hides it."""
    blocked = [
        "pytest",
        "ray",
        "fastapi",
        "sklearn",
        "pandas",
        "pyarrow",
        "torch",
        "radon",
        "krippendorff",
        "hypothesis",
    ]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked}))\n"
        "import dlbench.api, dlbench.cli.run, dlbench.cli.report, dlbench.validation.mutant_model"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
