"""Threads of a pool end together, at once, on an error or on Ctrl-C."""

from functools import partial

import pytest

from dlbench.execution import pool as pool_module
from dlbench.execution.pool import Pool, Task, TaskQueue, run_threads
from dlbench.execution.supervise import Interrupted
from tests.cli.test_judging import ID

ENDLESS = "def scale(values, factor=2):\n    while True: pass\n"


def test_first_failing_thread_ends_the_others():
    """An error of the second thread must not wait for the first one to finish its work."""
    queue = TaskQueue([], lambda instance: (1.0, 0.0))
    stopped = []

    def fail() -> None:
        raise KeyError("second")

    with pytest.raises(KeyError, match="second"):
        run_threads(queue, [lambda: stopped.append(queue.stop.wait(20)), fail])
    assert stopped == [True]


def test_thread_of_an_open_queue_turns_to_the_instance_that_waited_longest(toy, monkeypatch):
    """Otherwise a caller who never stops asking for one instance keeps all others waiting."""
    busy, quiet = (Task(instance, "") for instance in toy.instances.values())
    queue = TaskQueue([busy, busy, busy, quiet], lambda instance: (1.0, 1.0), is_open=True)
    first = queue.next(None)
    assert first is queue.next(first) is busy
    monkeypatch.setattr(pool_module, "_TURN_SECONDS", 0.0)
    assert queue.next(busy) is quiet
    assert queue.next(quiet) is busy


class CancelledAfterNext(TaskQueue[Task]):
    """Ctrl-C arrives when a thread has taken a task and not started it."""

    def next(self, *arguments) -> Task | None:
        task = super().next(*arguments)
        self.cancel()
        return task


@pytest.mark.parametrize("mode", ["auto", "fresh"])
def test_interrupt_between_taking_and_starting_a_task_does_not_wait_for_it(mode, engine, toy, toy_prepared):
    pool = Pool(engine, {"toy": toy_prepared}, mode=mode)
    queue = CancelledAfterNext([Task(toy.instances[ID], ENDLESS)], pool.estimate)
    pool.open_caches(1)
    found = []
    run = partial(pool.run_thread, queue, pool.caches[0], lambda task, verdict: found.append(verdict.status))
    with pytest.raises(Interrupted):
        run_threads(queue, [run])
    assert found == [], "the candidate ran until its limit"
