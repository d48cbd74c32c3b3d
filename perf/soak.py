"""Kill processes at random during an evaluation, and check that every candidate gets exactly its one verdict.

Judges 10,000 candidates with `dlbench evaluate` while workers, servers, children and sometimes the whole command are
killed; the command is restarted until it ends. Then there must be exactly 10,000 verdicts, each equal to that of an
undisturbed run, and no process, file or growing memory. Exits with 1 otherwise.
`python perf/soak.py [--candidates N] [--project NAME]`
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from dlbench.dataset import load
from dlbench.execution import Engine, choose_sandbox
from dlbench.execution.processes import find_descendants, memory_mb
from dlbench.validation.mutants import write_mutants, write_stub
from dlbench.workspace import home, prepare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--project", action="append", help="default: albucore")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=float, default=4.0, help="mean seconds between two kills")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        distinct = write_candidates(options.project or ["albucore"])
        expected = judge_undisturbed(distinct, folder / "calm")
        print(f"{len(distinct)} distinct candidates: {dict(Counter(expected))}", flush=True)
        chosen = [index % len(distinct) for index in range(options.candidates)]
        rng.shuffle(chosen)
        kills, seconds, memory = judge_disturbed(
            [distinct[index] for index in chosen], folder / "storm", rng, options.every
        )
        problems = compare(folder / "storm/out/verdicts.jsonl", [expected[index] for index in chosen])
        print(f"{options.candidates} candidates in {seconds:.0f} s; killed: {dict(kills)}")
    time.sleep(1)
    left = [pid for pid in find_descendants(os.getpid()) if pid != os.getpid()]
    # cells of running processes belong to other users of this machine
    cells = [cell for cell in (home() / "cells").glob("*") if not Path("/proc", cell.name.partition("-")[0]).exists()]
    problems += [f"{len(left)} processes are left"] if left else []
    problems += [f"{len(cells)} cells are left: {cells[:3]}"] if cells else []
    first, last = memory[: len(memory) // 4], memory[-len(memory) // 4 :]
    print(f"memory of the command and its workers, MiB: first quarter {max(first):.0f}, last quarter {max(last):.0f}")
    if max(last) > 1.5 * max(first) + 200:
        problems.append("memory grew")
    for problem in problems[:20]:
        print("PROBLEM", problem)
    print("all verdicts are right, and nothing is left" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


def write_candidates(projects: list[str]) -> list[dict[str, str]]:
    benchmark = load()
    found: list[dict[str, str]] = []
    for name in projects:
        ready = prepare(benchmark.projects[name], benchmark.root)
        for instance in benchmark.instances.values():
            if instance.project == name:
                target = Engine(choose_sandbox()).target(ready, instance).target
                codes = [target.text, write_stub(target.node, "raises"), write_stub(target.node, "returns_none")]
                codes += [code for _, code in write_mutants(target.node, 5)]
                found += [{"instance": instance.id, "code": code} for code in codes]
    return found


def judge_undisturbed(distinct: list[dict[str, str]], folder: Path) -> list[str]:
    samples = write_samples(distinct, folder)
    subprocess.run(command(samples, folder / "out"), check=True, capture_output=True)
    return [record["status"] for record in read(folder / "out/verdicts.jsonl")]


def write_samples(chosen: list[dict[str, str]], folder: Path) -> Path:
    folder.mkdir()
    path = folder / "samples.jsonl"
    counts: Counter[str] = Counter()
    with path.open("w") as file:
        for record in chosen:
            file.write(json.dumps(record | {"sample": counts[record["instance"]]}) + "\n")
            counts[record["instance"]] += 1
    return path


def command(samples: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "dlbench", "evaluate", str(samples), "--out", str(out)]


def read(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def judge_disturbed(
    chosen: list[dict[str, str]], folder: Path, rng: random.Random, every: float
) -> tuple[Counter[str], float, list[float]]:
    samples = write_samples(chosen, folder)
    kills: Counter[str] = Counter()
    memory: list[float] = []
    began = shown = time.monotonic()
    while True:
        log = (folder / "log").open("ab")
        process = subprocess.Popen(command(samples, folder / "out"), stdout=log, stderr=log)
        lives_until = time.monotonic() + rng.uniform(10, 30) * every
        while process.poll() is None:
            time.sleep(rng.uniform(0.5, 1.5) * every)
            family = find_descendants(process.pid)
            memory.append(memory_mb(family, 0.0))
            if time.monotonic() > lives_until:
                kill(process.pid)
                process.wait()
                kills["the command"] += 1
            elif len(family) > 1:
                # killing the first process of a sandbox ends all of it; deeper ones are worker, server and child
                victim = rng.choice(family[1:])
                kills[role_of(victim)] += 1
                kill(victim)
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                done = sum(1 for _ in (folder / "out/verdicts.jsonl").open()) if (folder / "out").exists() else 0
                print(f"  {done} verdicts after {shown - began:.0f} s, {sum(kills.values())} killed", flush=True)
        if process.returncode == 0:
            return kills, time.monotonic() - began, memory
        # 1: some candidates became harness errors, and the same command judges them again
        if process.returncode > 1:
            raise SystemExit((folder / "log").read_text()[-3000:])


def role_of(pid: int) -> str:
    """Told by the number of our processes above it inside the sandbox."""
    depth = 0
    try:
        if Path(f"/proc/{pid}/comm").read_text().strip() == "bwrap":
            return "sandbox"
        while "main.py" in Path(f"/proc/{pid}/cmdline").read_text():
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            depth += Path(f"/proc/{pid}/comm").read_text().strip() != "bwrap"
    except (OSError, ValueError, IndexError):
        return "gone already"
    return ("sandbox", "worker", "project or server", "server or child", "child")[min(depth, 4)]


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def compare(path: Path, expected: list[str]) -> list[str]:
    verdicts = read(path)
    if len(verdicts) != len(expected):
        return [f"{len(verdicts)} verdicts, not {len(expected)}"]
    pairs = zip(verdicts, expected, strict=True)
    return [
        f"{verdict['instance']} {verdict['sample']}: {verdict['status']}, not {status}: {verdict['message'][-200:]}"
        for verdict, status in pairs
        if verdict["status"] != status
    ]


if __name__ == "__main__":
    sys.exit(main())
