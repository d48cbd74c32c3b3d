"""The command `serve`: the judge as an HTTP service."""

import re
import signal
import socket
import sys
from dataclasses import asdict
from ipaddress import ip_address
from typing import Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import BenchmarkOption, JudgingOptions, command, need
from dlbench.cli.output import log
from dlbench.errors import DLBenchError


@command("serve")
def serve(
    execution: JudgingOptions,
    benchmark: BenchmarkOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on; beyond loopback only with a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is a free one.")] = 8765,
    token: Annotated[
        str, typer.Option(envvar="DLBENCH_TOKEN", help="Token that clients must send (default: a new one is printed).")
    ] = "",
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop a candidate at its first failing test.")] = False,
    graded: Annotated[bool, typer.Option("--graded", help="Also give the graded reward.")] = False,
    cached: Annotated[int, typer.Option(min=0, help="Verdicts kept for equal code.")] = 10_000,
    max_body: Annotated[int, typer.Option(min=1, help="Limit on the size of a request, in KiB.")] = 8192,
    max_candidates: Annotated[int, typer.Option(min=1, help="Limit on the candidates of a request.")] = 1000,
    max_waiting: Annotated[
        int, typer.Option(min=1, help="Limit on candidates without a verdict; a request beyond it gets status 429.")
    ] = 4000,
    deadline: Annotated[float, typer.Option(min=0.1, help="Seconds after which a request ends.")] = 600.0,
    client_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for a client to send its request, or to take a part of the reply.")
    ] = 60.0,
    grace: Annotated[float, typer.Option(min=0.0, help="Seconds for running requests after SIGTERM or Ctrl-C.")] = 30.0,
) -> None:
    """Judge candidates over HTTP, for clients that train or evaluate models (docs/judge.md)."""
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        need(module, "serve")
    if not re.fullmatch("[!-~]*", token):
        raise DLBenchError("only ASCII letters, digits and signs are allowed", where="--token", fix="choose another")
    if max_waiting < max_candidates:
        what = f"{max_waiting} waiting candidates are fewer than one request may have"
        raise DLBenchError(what, where="--max-waiting", fix=f"pass {max_candidates} or more, or --max-candidates")
    listening = _listen(host, port, is_open=bool(token))

    import logging
    import secrets

    from dlbench.api import Judge
    from dlbench.execution.sandbox import choose_sandbox, remove_leftovers
    from dlbench.service.app import Server
    from dlbench.service.guard import Settings

    if warning := choose_sandbox(execution.sandbox).warning:
        log(f"warning: {warning}")
    remove_leftovers()
    if not token:
        token = secrets.token_urlsafe(24)
        log(f"token: {token}")
    settings = Settings(token, max_body << 10, max_candidates, max_waiting, deadline, client_timeout, grace)
    options = asdict(execution) | {"fail_fast": fail_fast, "graded": graded, "cached": cached, "log": log}
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn calls it when all has ended
    with listening, Judge(dataset.load(benchmark), **options) as judge:
        name = f"[{host}]" if ":" in host else host
        log(f"listening on http://{name}:{listening.getsockname()[1]} (documentation: /docs)")
        (server := Server(judge, settings)).run([listening])
    if server.judging.is_broken:
        raise DLBenchError("the judge has ended; the last replies say why", fix="run the same command again")


def _listen(host: str, port: int, *, is_open: bool) -> socket.socket:
    """`is_open`: whether other machines may connect."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if not is_open and not ip_address(address[0]).is_loopback:
            fix = "set DLBENCH_TOKEN or pass --token"
            raise DLBenchError("other machines could connect, and no token was given", where=f"--host {host}", fix=fix)
        return socket.create_server(address[:2], family=family)
    except (OSError, UnicodeError) as error:
        fix = "pass another --port or --host"
        raise DLBenchError(f"cannot listen: {error}", where=f"{host}:{port}", fix=fix) from None
