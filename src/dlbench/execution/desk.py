"""How are candidates judged that come one by one, from many callers, while the workers stay warm?

A pool is given all its work at once and stops its workers with the last of it. Where another program does the asking,
answers come whenever a model has written one, and a worker for each of them would import the project each time. A desk
keeps a pool's threads between them: each takes what has come, and lets go of its workers when nothing has for long.
"""

import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

from dlbench.dataset import Instance
from dlbench.errors import DLBenchError
from dlbench.execution.cgroups import remove_groups
from dlbench.execution.evaluate import find_code, tell_reading
from dlbench.execution.judging import refuse
from dlbench.execution.pool import Keeper, Pool, Task, Work
from dlbench.execution.supervise import Interrupted, stop_all
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Status, Verdict


class Desk:
    """Used by any number of threads. Who opened it closes it."""

    def __init__(self, pool: Pool) -> None:
        self._work: Work[Task] = Work((), pool.estimate, is_open=True)
        self._promised: dict[int, Future[Verdict]] = {}
        pool.keepers = [Keeper(pool, self._work) for _ in range(pool.workers)]
        # daemons: a program that forgets the desk can still end
        self._threads = [threading.Thread(target=self._serve, args=[keeper], daemon=True) for keeper in pool.keepers]
        for thread in self._threads:
            thread.start()

    def judge(self, sample: Sample, instance: Instance) -> Verdict:
        """As `evaluate` judges it. Returns when the verdict is there."""
        found = find_code(sample, instance.qualname)
        if found.code is None:
            verdict = refuse(instance, sample.sample, Status.NO_CODE, found.reason)
        else:
            verdict = self._run(Task(instance, found.code, sample.sample))
        return tell_reading(replace(verdict, answer_sha256=sample.sha256), found)

    def close(self) -> None:
        """What is under way is stopped and what waits is given up: who still waits gets an error, and no verdict."""
        self._work.cancel()
        if self._promised:
            stop_all()
        self._give_up()
        for thread in self._threads:
            thread.join()
        remove_groups()

    def _run(self, task: Task) -> Verdict:
        promise = self._promised[id(task)] = Future()
        self._work.add(task)
        if not self._work.is_open:
            self._give_up()
        return promise.result()

    def _serve(self, keeper: Keeper) -> None:
        try:
            with suppress(Interrupted):
                while self._work.is_open:
                    keeper.run(self._keep)
        finally:  # without this thread nobody may be left to keep the promises
            self._work.cancel()
            self._give_up()

    def _keep(self, task: Task, verdict: Verdict) -> None:
        promise = self._promised.pop(id(task), None)
        if promise is not None:
            promise.set_result(verdict)

    def _give_up(self) -> None:
        given_up = [self._promised.pop(key, None) for key in list(self._promised)]
        for promise in filter(None, given_up):
            promise.set_exception(DLBenchError("the judge was stopped", mend="start the same command again"))
