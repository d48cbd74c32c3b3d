"""What runs in the embedded model's own process?

`python embedded_server.py MODEL PARENT PORT CONTEXT` serves the weights over HTTP on the loopback address,
says where on its first line of output, and ends when its parent is gone. In a process of its own, so that the engine's
logs stay off the user's terminal and a crash in it does not take the run along.
"""

import os
import sys
import time
from typing import Protocol


class _Server(Protocol):
    listening_address: str


def main() -> None:
    model, parent, port, context = sys.argv[1], *(int(word) for word in sys.argv[2:])
    # The engine writes to both streams; only the address may reach the parent.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = _serve(model, port, context)
    print(server.listening_address, file=answer, flush=True)
    # A killed parent cannot stop us, so we look for ourselves.
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


def _serve(model: str, port: int, context: int) -> _Server:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 1
    params.n_ctx = context
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    # An answer must not depend on which prompts came before it.
    params.cache_prompt = False
    params.warmup = False
    params.ui = False
    server: _Server = xllamacpp.Server(params)
    return server


if __name__ == "__main__":
    main()
