"""What the pages tell a reader to type can be typed: every command line is one that there is, and the cheap ones run.

They run on a benchmark of one small real project, in a folder with some runs: no key, no network, and in seconds.
"""

import ast
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.documentation.command_line import follow, parse
from tests.documentation.pages import FRONT, PAGES, ROOT, name_page, read_blocks, read_spans, split_commands

ALL = [*PAGES, *FRONT]
PROJECT, ENVIRONMENT = "albucore", "numpy"
NAMED = (
    "apply_uint8_lut",
    "maybe_process_in_chunks",
    "normalize_per_image_numpy",
    "pairwise_distances_squared",
    "sz_lut",
)
MODEL = "import sys\n\nsys.stdin.read()\nprint('I would not know how.')\n"
SCORES = "model,here,there\nsmall,0.1,0.2\nmiddle,0.3,0.5\nlarge,0.4,0.4\nlargest,0.6,0.9\n"


@pytest.mark.parametrize("page", ALL, ids=name_page)
def test_every_command_line_is_one_that_there_is(page):
    """Also those that are not run: sub-command, options, and what they take."""
    for block in read_blocks(page):
        for line in block.lines if block.is_shell else ():
            try:
                parse(line if line.startswith("dlbench ") else "")
            except Exception as error:
                pytest.fail(f"{block.where}: {line}: {error}")


@pytest.mark.parametrize(
    "line",
    [
        "dlbench runn --model stub",
        "dlbench run --modle stub",
        "dlbench construct discovr",
        "dlbench run --samples many",
        "dlbench evaluate",
        "dlbench list --stage trainig",
        "dlbench stats && dlbench show",
    ],
)
def test_a_line_that_the_command_line_would_refuse_is_refused(line):
    with pytest.raises(Exception, match=r"(?i)no such|missing|should be|not one of|not a valid"):
        parse(line)


@pytest.mark.parametrize("page", ALL, ids=name_page)
def test_a_command_named_in_a_sentence_has_its_options(page):
    for span in read_spans(page):
        if span.startswith("dlbench "):
            command, _, rest, _ = follow(split_commands(span)[0][1:])
            if "…" in rest[:1]:
                continue
            known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
            unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in known]
            assert not unknown, span
            if hasattr(command, "list_commands"):
                assert not rest or not rest[0].isidentifier() or rest[0].isupper(), f"{span}: there is no such command"


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_a_block_of_commands_runs_or_says_why_not(page):
    for block in read_blocks(page):
        for words, _ in block.excuses:
            assert any(words in line for line in block.lines), f"{block.where}: no line holds {words!r}"
        if not block.is_shell:
            typed = [line for line in block.lines if line.startswith(("dlbench ", "$ ", "make ", "docker "))]
            assert not typed or block.language, f"{block.where}: commands want a fence marked sh"


@pytest.mark.parametrize("page", ALL, ids=name_page)
def test_python_on_a_page_parses_and_imports_what_there_is(page):
    for block in read_blocks(page):
        if block.language != "python":
            continue
        for node in ast.walk(ast.parse("\n".join(block.lines))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dlbench"):
                module = import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names), block.where


def write_small_benchmark(root: Path) -> None:
    """One project of ours with the instances that the pages speak of."""
    benchmark = ROOT / "benchmark"
    names = ["VERSION", "CANARY", f"projects/{PROJECT}.toml", f"locks/{ENVIRONMENT}.in", f"locks/{ENVIRONMENT}.txt"]
    for name in [*names, *(f"instances/{PROJECT}/{instance}.toml" for instance in NAMED)]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(benchmark / name, root / name)
    listed = (benchmark / "splits/demo.txt").read_text().splitlines()
    (root / "splits").mkdir()
    (root / "splits/demo.txt").write_text("".join(f"{name}\n" for name in listed if name.startswith(f"{PROJECT}/")))


class Desk:
    """A folder as a reader has it who followed the pages so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder.parent / f"{folder.name}-bin"
        programs.mkdir(exist_ok=True)
        program = programs / "dlbench"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dlbench "$@"\n')
        program.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
        path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
        self._environment = kept | {"PATH": path, "DLBENCH_BENCHMARK": str(folder / "benchmark"), "BROWSER": "true"}

    def run(self, script: str) -> str:
        """What was said, where it failed; nothing else."""
        command = ["bash", "-euxo", "pipefail", "-c", script]
        ended = subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, env=self._environment, timeout=600, check=False
        )
        return "" if ended.returncode == 0 else ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def shelf(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("shelf") / "desk"
    write_small_benchmark(folder / "benchmark")
    (folder / "my_model.py").write_text(MODEL)
    (folder / "scores.csv").write_text(SCORES)
    failed = Desk(folder).run(
        "dlbench run --model reference --model stub --out runs\n"
        "mv runs/stub runs/a; mv runs/reference runs/b\n"
        "cp -r runs/b runs/mine; cp -r runs/a runs/c; cp -r runs/a runs/gpt-4o\n"
        "cp runs/b/samples.jsonl samples.jsonl; cp runs/b/samples.jsonl answers.jsonl"
    )
    assert not failed, failed
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(block.is_shell and block.to_run for block in read_blocks(page))],
    ids=name_page,
)
def test_commands_run_in_the_order_of_the_page(page, shelf, tmp_path):
    folder = tmp_path / "desk"
    shutil.copytree(shelf, folder)
    if page.name == "tutorial.md":  # it begins with nothing
        shutil.rmtree(folder / "runs")
    desk = Desk(folder)
    for block in read_blocks(page):
        failed = desk.run("\n".join(block.to_run)) if block.is_shell else ""
        assert not failed, f"{block.where}: {failed}"
