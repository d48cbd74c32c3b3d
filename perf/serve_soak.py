"""Kill `dlbench serve` again and again, send it bad requests, and check that every candidate gets exactly its verdict.

Clients send requests of one to four candidates of a toy benchmark, a quarter of them new code. In the first half the
server is killed (SIGKILL, or SIGTERM) and started again; the second half is for its memory. Exits with 1 if a verdict is
lost, comes twice or differs from that of `dlbench.Judge`, if a bad request gets a status 5xx, or if memory grows.
`python -m perf.serve_soak [--requests N] [--clients N] [--seconds N]`
"""

import argparse
import contextlib
import logging
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import requests

import dlbench
from dlbench.execution.processes import find_descendants, memory_mb
from dlbench.service.client import JudgeClient
from tests.conftest import write_toy
from tests.service.conftest import AUTH, TOKEN, Service

ID = "toy/toy.core.scale"
CODES = [
    f"def scale(values, factor=2):\n    {body}\n"
    for body in (
        "if factor == 0:\n        raise ValueError\n    return [v * factor for v in values]",
        "return [v * factor for v in values]",
        "return values",
        "raise RuntimeError",
        "return [v * 2 for v in values]",
        "return [v * (factor or values.nothing) for v in values",
        "import os\n    os._exit(0)",
    )
]
BAD = [b"", b"[", b"[" * 100_000, b"{}", b"[3]", b'{"instance": "x", "code": ""}', b"\xff" * 100, b" " * (10 << 20)]


class Soak:
    def __init__(self, service: Service, expected: list[dlbench.Verdict], count: int, end: float) -> None:
        self.service, self.expected, self.count, self.end = service, expected, count, end
        self.sent = 0
        self.answers: Counter[tuple[int, int]] = Counter()
        self.asked: set[tuple[int, int]] = set()
        self.problems: list[str] = []
        self.bad: Counter[int | str] = Counter()
        self.lock = threading.Lock()

    def ask(self, seed: int) -> None:
        rng = random.Random(seed)
        client = JudgeClient(self.service.url, TOKEN)
        while True:
            with self.lock:
                if self.sent >= self.count or time.monotonic() > self.end:
                    return
                number, self.sent = self.sent, self.sent + 1
            chosen = [rng.randrange(len(CODES)) for _ in range(rng.randint(1, 4))]
            new = [f"\nNUMBER = {number}\n" if rng.random() < 0.25 else "" for _ in chosen]
            with self.lock:
                self.asked |= {(number, place) for place in range(len(chosen))}
            pairs = [(ID, CODES[one] + more) for one, more in zip(chosen, new, strict=True)]
            for record in client.judge_many(pairs):
                self.check(number, record, self.expected[chosen[record["id"]]])

    def check(self, number: int, record: dict, expected: dlbench.Verdict) -> None:
        with self.lock:
            self.answers[number, record["id"]] += 1
            if (record["status"], record["tests"]) != (expected.status, expected.tests):
                message = record["message"][-200:]
                self.problems.append(f"{number}: {record['status']}, not {expected.status}: {message}")

    def annoy(self, stop: threading.Event) -> None:
        """Bad requests, tokens and connections, all the time."""
        rng = random.Random(1)
        while not stop.wait(0.1):
            headers = AUTH if rng.random() < 0.8 else {"Authorization": "Bearer wrong"}
            headers = headers | {"Content-Type": "application/json"}
            try:
                found = requests.post(f"{self.service.url}/v1/judge", rng.choice(BAD), headers=headers, timeout=60)
                self.bad[found.status_code] += 1
            except requests.RequestException:
                self.bad["no connection"] += 1  # the server was killed, or did not read a large body without the token


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--every", type=float, default=20.0, help="mean seconds between two kills")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="send no request after this time")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        root = write_toy(Path(name))
        with dlbench.Judge(dlbench.load(root=root)) as judge:
            expected = [judge.judge(ID, code) for code in CODES]
        print(f"{len(CODES)} codes: {dict(Counter(str(one.status) for one in expected))}", flush=True)
        # a cache that is soon full: what grows after that is a leak
        with contextlib.closing(Service(root, "--cached", "200")) as service:
            return run(service, expected, options)


def run(service: Service, expected: list[dlbench.Verdict], options: argparse.Namespace) -> int:
    rng, began, kills, stop = random.Random(0), time.monotonic(), Counter[str](), threading.Event()
    soak = Soak(service, expected, options.requests, began + options.seconds)
    threads = [threading.Thread(target=soak.ask, args=[seed]) for seed in range(options.clients)]
    nuisance = threading.Thread(target=soak.annoy, args=[stop])
    for thread in [*threads, nuisance]:
        thread.start()
    while is_first_half(soak, began, options) and any(thread.is_alive() for thread in threads):
        time.sleep(rng.uniform(0.5, 1.5) * options.every)
        number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        service.kill(number)
        kills[number.name] += 1
        service.start()
        print(f"  {soak.sent} requests after {time.monotonic() - began:.0f} s, {kills.total()} kills", flush=True)
    time.sleep(min(20.0, options.seconds / 20))  # the workers are warm again
    memory = [measure(service)]
    while any(thread.is_alive() for thread in threads):
        time.sleep(5)
        memory.append(measure(service))
    stop.set()
    for thread in [*threads, nuisance]:
        thread.join()
    lost = [key for key in soak.asked if not soak.answers[key]]
    twice = [key for key, count in soak.answers.items() if count > 1]
    failed = {status: count for status, count in soak.bad.items() if isinstance(status, int) and status >= 500}
    print(f"{soak.sent} requests, {len(soak.asked)} candidates in {time.monotonic() - began:.0f} s; {dict(kills)}")
    print(f"lost {len(lost)}, duplicated {len(twice)}, differing {len(soak.problems)}; bad requests: {dict(soak.bad)}")
    last = memory[-max(1, len(memory) // 4) :]
    print(f"MiB since the last kill: server {memory[0][0]:.0f} -> {max(one for one, _ in last):.0f}, "
          f"with its workers {memory[0][1]:.0f} -> {max(one for _, one in last):.0f}")  # fmt: skip
    for problem in soak.problems[:20]:
        print("PROBLEM", problem)
    grew = max(one for one, _ in last) > memory[0][0] + 100
    return 1 if lost or twice or soak.problems or failed or grew else 0


def is_first_half(soak: Soak, began: float, options: argparse.Namespace) -> bool:
    return soak.sent < options.requests / 2 and time.monotonic() - began < options.seconds / 2


def measure(service: Service) -> tuple[float, float]:
    """Of the server, and of all its processes."""
    family = find_descendants(service.process.pid)
    return memory_mb([service.process.pid], 0.0), memory_mb(family, 0.0)


if __name__ == "__main__":
    sys.exit(main())
