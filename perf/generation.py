"""Measure whether generation keeps the requested number of requests in flight.

A server in its own process answers each request after 200 ms. The ideal rate of N concurrent requests is N / latency.
Printed: the share of it that a whole run reaches, with every request and answer written to disk; the share of the N
slots that the server saw occupied; CPU time per request; and the share that a bare HTTP client reaches.
`python perf/generation.py [--concurrency N …] [--rounds N] [--latency S]`
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
    parser.add_argument("--concurrency", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--rounds", type=int, default=40, help="requests per slot")
    parser.add_argument("--latency", type=float, default=0.2)
    options = parser.parse_args()
    parent, child = multiprocessing.Pipe()
    busy = multiprocessing.Value("d", 0.0)
    server = multiprocessing.Process(target=serve, args=(child, busy, options.latency), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{parent.recv()}/v1"
    for concurrency in options.concurrency:
        measure(url, busy, concurrency, options.rounds, options.latency)
        asyncio.run(measure_bare(url, concurrency, options.rounds, options.latency))
    server.terminate()


def measure(url: str, busy: "Synchronized[float]", concurrency: int, rounds: int, latency: float) -> None:
    instances = [make_instance(number) for number in range(concurrency)]
    messages = [{"role": "user", "content": PROMPT}]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.jsonl"
        busy.value = 0.0
        start, cpu = time.monotonic(), time.process_time()
        generate(
            OpenAIModel("m", url),
            instances,
            lambda instance, sample: Request(instance.id, sample, messages),
            path,
            rounds,
            concurrency,
            lambda _: None,
        )
        seconds, cpu = time.monotonic() - start, time.process_time() - cpu
    total = concurrency * rounds
    rate = total / seconds
    print(
        f"{concurrency:4} in flight: {rate:7.1f} requests/s of {concurrency / latency:7.1f} = {rate * latency / concurrency:.3f}; "
        f"{busy.value / seconds / concurrency:.3f} of the slots occupied; "
        f"{total} requests in {seconds:.1f} s, {cpu / total * 1000:.2f} ms of CPU each",
        flush=True,
    )


async def measure_bare(url: str, concurrency: int, rounds: int, latency: float) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": PROMPT}]}).encode()

    async def ask(session: aiohttp.ClientSession) -> None:
        for _ in range(rounds):
            async with session.post(f"{url}/chat/completions", data=body) as response:
                await response.read()

    start = time.monotonic()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(ask(session) for _ in range(concurrency)))
    print(f"     bare client: {rounds * latency / (time.monotonic() - start):.3f}", flush=True)


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
    """With minimal work: the server competes with the client for the CPU."""
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
                start = time.monotonic()
                await asyncio.sleep(latency)
                writer.write(reply)
                await writer.drain()
                busy.value += time.monotonic() - start
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def listen() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


if __name__ == "__main__":
    main()
