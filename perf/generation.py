"""Does asking keep as many requests in flight as it was told to?

A server of its own process answers each request after 200 ms. The best that N requests at once can reach is N / latency;
printed is the share of it that a whole run reaches, with every request and every answer written to disk; the share of
the N places that the server saw taken; the time of the processor for a request; and the share that the bare HTTP client
reaches in the same minute, which is what a busy machine leaves.
`python perf/generation.py [--at-once N …] [--rounds N] [--latency S]`
"""

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from datetime import date
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

import aiohttp

from dlbench.dataset.records import Instance, Labels
from dlbench.generation import OpenAIModel, Request, generate

PROMPT = "Write the function. " * 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-once", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--rounds", type=int, default=40, help="requests for each place")
    parser.add_argument("--latency", type=float, default=0.2)
    options = parser.parse_args()
    here, there = multiprocessing.Pipe()
    busy = multiprocessing.Value("d", 0.0)
    server = multiprocessing.Process(target=serve, args=(there, busy, options.latency), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{here.recv()}/v1"
    for at_once in options.at_once:
        measure(url, busy, at_once, options.rounds, options.latency)
        asyncio.run(measure_bare(url, at_once, options.rounds, options.latency))
    server.terminate()


def measure(url: str, busy: "Synchronized[float]", at_once: int, rounds: int, latency: float) -> None:
    instances = [make_instance(number) for number in range(at_once)]
    asked = [{"role": "user", "content": PROMPT}]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.jsonl"
        busy.value = 0.0
        began, used = time.monotonic(), time.process_time()
        generate(
            OpenAIModel("m", url),
            instances,
            lambda instance, sample: Request(instance.id, sample, asked),
            path,
            rounds,
            at_once,
            lambda _: None,
        )
        seconds, used = time.monotonic() - began, time.process_time() - used
    total = at_once * rounds
    reached = total / seconds
    print(
        f"{at_once:4} at once: {reached:7.1f} requests/s of {at_once / latency:7.1f} = {reached * latency / at_once:.3f}; "
        f"{busy.value / seconds / at_once:.3f} of the places taken; "
        f"{total} requests in {seconds:.1f} s, {used / total * 1000:.2f} ms of the processor each",
        flush=True,
    )


async def measure_bare(url: str, at_once: int, rounds: int, latency: float) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": PROMPT}]}).encode()

    async def ask(session: aiohttp.ClientSession) -> None:
        for _ in range(rounds):
            async with session.post(f"{url}/chat/completions", data=body) as response:
                await response.read()

    began = time.monotonic()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(ask(session) for _ in range(at_once)))
    print(f"     bare client: {rounds * latency / (time.monotonic() - began):.3f}", flush=True)


def make_instance(number: int) -> Instance:
    return Instance(
        id=f"made/made.f{number}",
        path="made.py",
        qualname=f"f{number}",
        sha256="0" * 64,
        introduced=date(2026, 1, 2),
        prompt="Do it.",
        tests=("tests/test_made.py::test_it",),
        labels=Labels(stage="training", task="general", data="others"),
    )


def serve(port: Connection, busy: "Synchronized[float]", latency: float) -> None:
    """As little work as can be: what the server takes of the processor, the client lacks."""
    message = {"role": "assistant", "content": "x" * 1500}
    body = json.dumps(
        {
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 1500, "completion_tokens": 400},
        }
    ).encode()
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
                began = time.monotonic()
                await asyncio.sleep(latency)
                writer.write(reply)
                await writer.drain()
                busy.value += time.monotonic() - began
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def listen() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


if __name__ == "__main__":
    main()
