"""Serve the embedded model's weights over HTTP on the loopback address, in a process of its own.

`python embedded_server.py MODEL PARENT PORT CONTEXT` prints its address as the first line of output and exits when its
parent is gone. The separate process keeps the engine's log off the user's terminal and its crashes out of the run.
"""

import os
import sys
import time


def main() -> None:
    import xllamacpp

    model, parent, port, context = sys.argv[1], *(int(word) for word in sys.argv[2:])
    # The engine logs to both streams; the parent reads only the address.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 1
    params.n_ctx = context
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    # An answer must not depend on earlier prompts.
    params.cache_prompt = False
    params.warmup = False
    params.ui = False
    server = xllamacpp.Server(params)
    print(server.listening_address, file=output, flush=True)
    # A killed parent cannot stop this process.
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


if __name__ == "__main__":
    main()
