"""Judge the candidates of requests: admission, deadlines, metrics, and the end of the service.

A candidate that was admitted is judged to its end, whatever becomes of its request: a client that asks again gets the
verdict from the judge's cache. Nothing here blocks the event loop.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from dlbench.api import Judge
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Verdict
from dlbench.service.guard import Refused, Settings, fail

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
            raise fail(error) from error

    async def _prepare(self, project: str) -> None:
        """Build the project's environment, once for all that wait for it."""
        if project not in self.judge.pool.prepared:
            if project not in self._builds:
                build = asyncio.get_running_loop().run_in_executor(self._builder, self.judge.prepare, project)
                build.add_done_callback(lambda _: self._builds.pop(project))
                self._builds[project] = build
            await self._builds[project]
