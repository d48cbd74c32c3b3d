"""The HTTP interface of a judge: an ASGI app with OpenAPI documentation, and its server.

A candidate that was admitted is judged to its end, whatever becomes of its request: a client that asks again gets the
verdict from the judge's cache. Nothing here blocks the event loop.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

import uvicorn
from fastapi import Body, FastAPI, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPBearer
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag
from starlette.exceptions import HTTPException

from dlbench import __version__
from dlbench.api import Judge
from dlbench.dataset import Selection, select
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources, make_prompt_builder
from dlbench.registry import find_known
from dlbench.runs.samples import Sample, parse_samples
from dlbench.runs.verdict import Verdict
from dlbench.service.guard import Guard, Refused, Settings, fail, render, respond, to_record

Finished = asyncio.Task[Verdict]
Finishing = asyncio.Queue[tuple[int, Finished] | None]
"""Places and verdicts of samples in the order of completion; None: time is over."""
_LATER: dict[str, Any] = {"fix": "send the request again when the service is back", "headers": {"Retry-After": "5"}}
_BUCKETS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


class Judging:
    def __init__(self, judge: Judge, settings: Settings) -> None:
        self.judge, self.settings = judge, settings
        self.waiting = 0
        """Candidates without a verdict."""
        self.is_broken = False
        """The judge has ended. A new start helps."""
        self._is_over = False
        self._tasks: set[Finished] = set()
        self._open: set[Finishing] = set()
        self._builder = ThreadPoolExecutor(1)  # a build takes minutes: it must not hold the threads that submit
        self._builds: dict[str, asyncio.Future[None]] = {}
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"namespace": "dlbench", "registry": self.registry}
        self.requests = Counter("requests", "Requests.", ["path", "status"], **own)
        self._verdicts = Counter("verdicts", "Verdicts.", ["status"], **own)
        self._seconds = Histogram("verdict_seconds", "From request to verdict.", buckets=_BUCKETS, **own)
        Gauge("waiting", "Candidates without a verdict.", **own).set_function(lambda: self.waiting)
        Gauge("cache_hits", "Verdicts for equal code.", **own).set_function(lambda: self.judge.hits)
        ProcessCollector(registry=self.registry)

    def start(self, samples: Sequence[Sample]) -> Finishing:
        """Refuses samples that are too many, now or ever."""
        if len(samples) > self.settings.max_candidates:
            what = f"{len(samples)} candidates in one request, and at most {self.settings.max_candidates} are accepted"
            raise Refused(413, what, fix="send them in several requests")
        if self.waiting + len(samples) > self.settings.max_waiting:
            what = f"{self.waiting} candidates wait, and at most {self.settings.max_waiting} may"
            raise Refused(429, what, fix="send the request again later", headers={"Retry-After": "1"})
        self.waiting += len(samples)
        queue = Finishing()

        def finish(place: int, task: Finished) -> None:
            self._tasks.discard(task)
            queue.put_nowait((place, task))
            _ = task.cancelled() or task.exception()  # asyncio reports an exception that nobody looked at

        for place, sample in enumerate(samples):
            task = asyncio.create_task(self._judge(sample))
            self._tasks.add(task)  # the event loop alone does not keep it
            task.add_done_callback(partial(finish, place))
        return queue

    async def collect(self, queue: Finishing, count: int, deadline: float) -> AsyncIterator[tuple[int, Finished]]:
        """What `start` puts into the queue; `Refused` at the deadline or the end of the service."""
        timer = asyncio.get_running_loop().call_later(deadline, queue.put_nowait, None)
        self._open.add(queue)
        try:
            for _ in range(count):
                found = await queue.get()
                if found is None and self._is_over:
                    raise Refused(503, "the service stops", **_LATER)
                if found is None:
                    fix = "send the request again: judging goes on, and the verdict is kept"
                    raise Refused(504, f"no verdict after {deadline:g} s", fix=fix)
                yield found
        finally:
            timer.cancel()
            self._open.discard(queue)

    def end(self) -> None:
        """Requests that still run get an answer without verdicts."""
        self._is_over = True
        for queue in self._open:
            queue.put_nowait(None)

    async def _judge(self, sample: Sample) -> Verdict:
        began = time.monotonic()
        try:
            future = await self._submit(sample)
            verdict = await asyncio.wrap_future(future)
        except Refused:
            raise
        except Exception as error:  # a failure of one candidate is a verdict: the judge itself has ended
            self.is_broken = True
            raise Refused(503, f"the judge has ended: {error}", **_LATER) from error
        finally:
            self.waiting -= 1
        self._verdicts.labels(verdict.status).inc()
        self._seconds.observe(time.monotonic() - began)
        return verdict

    async def _submit(self, sample: Sample) -> "Future[Verdict]":
        try:
            await self._prepare(self.judge.benchmark.instances[sample.instance].project)
            return await asyncio.to_thread(self.judge.submit, sample)
        except Exception as error:
            if self.judge.is_closed:
                raise  # all further requests will end so: `_judge` says it
            raise fail(error) from error

    async def _prepare(self, project: str) -> None:
        """Build the project's environment, once for all that wait for it."""
        if project not in self.judge.pool.prepared:
            if project not in self._builds:
                build = asyncio.get_running_loop().run_in_executor(self._builder, self.judge.prepare, project)
                build.add_done_callback(lambda _: self._builds.pop(project))
                self._builds[project] = build
            await self._builds[project]


class Candidate(BaseModel):
    """Either `code`, or a model's whole `answer`. Other fields are ignored: records of a samples file are accepted."""

    model_config = ConfigDict(strict=True)
    instance: str = Field(max_length=500, description="Id of an instance, as `/v1/instances` lists it.")
    code: str | None = None
    answer: str | None = None
    finish_reason: str | None = Field(None, description="As the model's endpoint gave it.")
    id: str | int | None = Field(None, description="Comes back with the verdict (default: the place in the list).")


OneOrMany = Annotated[
    Annotated[Candidate, Tag("one")] | Annotated[list[Candidate], Field(min_length=1), Tag("many")],
    Discriminator(lambda value: "many" if isinstance(value, list) else "one"),
]


def create_app(judging: Judging) -> FastAPI:
    judge, most_seconds = judging.judge, judging.settings.deadline

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(judge.close)

    app = FastAPI(title="DL-Bench judge", version=__version__, lifespan=live, redoc_url=None)
    for kind in (DLBenchError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer_error)
    secured = [Security(HTTPBearer(auto_error=False))]  # for the documentation; the guard checks the token
    prompts = make_prompt_builder(Sources(judge.benchmark), "zero-shot", shots=3, seed=0, prompt_tokens=6000)

    @app.post("/v1/judge", dependencies=secured)
    async def judge_candidates(
        body: Annotated[OneOrMany, Body()],
        deadline: Annotated[float, Query(gt=0, le=most_seconds, description="Seconds to wait.")] = most_seconds,
    ) -> Response:
        """Judge one candidate, or a list of them.

        One: its verdict with `id` and `rewards`, or status 504 at the deadline. A list: the same as lines of JSON, in
        the order of completion; a candidate without a verdict gets a line with `id` and `error`. What was accepted is
        judged to its end and kept: ask again with the same code.
        """
        asked = body if isinstance(body, list) else [body]
        ids = [place if one.id is None else one.id for place, one in enumerate(asked)]
        if len(set(ids)) < len(ids):
            raise DLBenchError("two candidates have the same id", where="body", fix="give each an id of its own")
        records = (one.model_dump(exclude={"id"}, exclude_none=True) for one in asked)
        samples = parse_samples(enumerate(records, 1), "candidate", judge.benchmark)
        found = judging.collect(judging.start(samples), len(samples), deadline)

        def finish(place: int, task: Finished) -> bytes:
            verdict = task.result()
            rewards = {kind: verdict.reward(kind) for kind in judge.rewards}
            return render({"id": ids[place]} | verdict.as_record() | {"rewards": rewards})

        async def stream() -> AsyncIterator[bytes]:
            left = dict(enumerate(ids))
            try:
                async for place, task in found:
                    one = left.pop(place)
                    try:
                        line = finish(place, task)
                    except DLBenchError as error:
                        line = render({"id": one} | to_record(error))
                    yield line
            except Refused as error:
                for one in left.values():
                    yield render({"id": one} | to_record(error))

        if isinstance(body, list):
            return StreamingResponse(stream(), media_type="application/x-ndjson")
        return Response(finish(*await anext(found)), media_type="application/json")

    @app.get("/v1/instances", dependencies=secured)
    def list_instances(split: str = "full") -> list[dict[str, Any]]:
        """The instances of a split: id, project, labels, number of tests."""
        return [
            {"id": one.id, "project": one.project, "labels": one.labels.model_dump(), "tests": len(one.tests)}
            for one in select(judge.benchmark, Selection(split=split))
        ]

    @app.get("/v1/prompt", dependencies=secured)
    def show_prompt(instance: str) -> dict[str, Any]:
        """What `dlbench run` sends to a model, as chat messages."""
        found = find_known(instance, judge.benchmark.instances, "instance")
        try:
            return {"instance": found.id, "messages": prompts.build(found).turns[0]}
        except DLBenchError as error:  # the source cannot be fetched
            raise fail(error) from error

    @app.get("/healthz")
    async def show_health() -> dict[str, Any]:
        """Needs no token."""
        return {"status": "ok", "waiting": judging.waiting}

    @app.get("/metrics", dependencies=secured)
    async def show_metrics() -> Response:
        """For Prometheus."""
        return Response(generate_latest(judging.registry), media_type=CONTENT_TYPE_LATEST)

    return app


async def _answer_error(request: Request, error: Exception) -> Response:
    fix = "send JSON as /docs describes it, with `Content-Type: application/json`"
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        error = Refused(422, first["msg"], where=".".join(map(str, first["loc"])), fix=fix)
    elif isinstance(error, HTTPException):
        where = f"{request.method} {request.url.path}"
        error = Refused(error.status_code, error.detail, where=where, fix=fix, headers=error.headers)
    assert isinstance(error, DLBenchError)
    return respond(error)


class Server(uvicorn.Server):
    """Stops as uvicorn does, and when the judge has ended. Requests that it cannot wait for get an answer."""

    def __init__(self, judge: Judge, settings: Settings) -> None:
        self.judging = Judging(judge, settings)
        guard = Guard(create_app(self.judging), settings, self.judging.requests)
        wait = int(settings.grace) + 5
        options: dict[str, Any] = {"http": "h11", "ws": "none", "log_config": None, "access_log": False}
        super().__init__(uvicorn.Config(guard, timeout_graceful_shutdown=wait, **options))

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self.judging.is_broken

    async def shutdown(self, sockets: Any = None) -> None:  # noqa: ANN401 - as the base class
        asyncio.get_running_loop().call_later(self.judging.settings.grace, self.judging.end)
        await super().shutdown(sockets)
