"""How is one request brought to an answer?

Through one gate for all turns of all samples: within the budget, written down before it is sent, and tried again while
the trouble may pass. Waits grow from try to try, differ at random so that many requests do not come back at once, and
are never shorter than the endpoint says; a wait that is too long ends the run, which can be started again. A request
that does not fit into the model's context is sent once more for an answer of one token: that tells a prompt that is too
long, which is the model's failure, from a longest answer that is too long, which is a setting's.
"""

import asyncio
import random
import time
from dataclasses import replace

from dlbench.errors import DLBenchError
from dlbench.generation.budget import Budget, BudgetSpent, count_characters
from dlbench.generation.model import GOES_ON, Answer, Model, Request, TransientError
from dlbench.generation.request_log import RequestLog
from dlbench.workspace.home import Log, quiet

RETRIES = 6
_LONGEST_WAIT = 120.0
_LONGEST_BACKOFF = 30.0
_QUIET = 5.0
_FITS = (
    "give `dlbench run` a lower --max-tokens or a lower --prompt-tokens, and a new --out with it: a run folder goes on "
    "only with the settings that it was begun with; or give the model a longer context where it is served, and start "
    "the same command again: it goes on from there"
)


class Stopped(Exception):
    """Nothing more is sent: the run is ending."""


class RateLimiter:
    """Lets `at_once` requests through at a time; one that waits to be tried again keeps its place, for an endpoint that
    is busy is not to be asked for more. `retries` counts the tries after the first. Used in one event loop."""

    def __init__(
        self,
        model: Model,
        ledger: RequestLog | None = None,
        budget: Budget | None = None,
        *,
        at_once: int = 1,
        retries: int = RETRIES,
        log: Log = quiet,
    ) -> None:
        self.model = model
        self.budget = budget or Budget()
        self._ledger = ledger
        self._places = asyncio.Semaphore(at_once)
        self._retries = retries
        self._stop = asyncio.Event()
        self._say = log
        self._said = -_QUIET

    def stop(self) -> None:
        """From now on nothing is sent and no wait is waited; what is under way may still come."""
        self._stop.set()

    async def ask(self, request: Request) -> Answer:
        async with self._places:
            answer = await self._ask(request)
            if answer.refusal and request.max_tokens > 1:
                await self._must_be_the_prompt(request, answer.refusal)
            return answer

    async def _must_be_the_prompt(self, request: Request, refusal: str) -> None:
        """The refusal is the model's own failure only where no longest answer, however short, makes it fit."""
        where = f"model {self.model.name}, {request.instance_id}"
        what = (
            f"the endpoint refused a prompt with a longest answer of {request.max_tokens} tokens as too long for the "
            f"model's context: {refusal}"
        )
        try:
            probe = await self._ask(replace(request, max_tokens=1))
        except BudgetSpent:
            raise
        except DLBenchError as problem:
            told = f"{what}; whether the prompt alone fits is not known, for asked with 1 token: {problem.what}"
            raise DLBenchError(told, where=where, fix=f"{problem.fix}; or {_FITS}") from None
        if not probe.refusal:
            raise DLBenchError(f"{what}; the prompt alone fits", where=where, fix=_FITS)

    async def _ask(self, request: Request) -> Answer:
        attempt = 0
        while True:
            try:
                return await self._try(request, attempt)
            except TransientError as problem:
                attempt += 1
                if attempt > self._retries and problem.settles is not None:
                    return problem.settles
                after = problem.after or 0.0
                if attempt > self._retries or after > _LONGEST_WAIT:
                    fix = f"{problem.fix}; {GOES_ON}" if problem.fix else GOES_ON
                    told = f"; it wants to be left alone for {after:.0f} s" if after > _LONGEST_WAIT else ""
                    raise DLBenchError(f"{problem.what}{told}", where=problem.where, fix=fix) from None
                await self._wait(problem, attempt)

    async def _try(self, request: Request, attempt: int) -> Answer:
        async with self.budget.room(request):
            if self._stop.is_set():
                raise Stopped
            if self._ledger is not None:
                self._ledger.write(self.model, request, attempt)
            asked = count_characters(request.messages)
            try:
                answer = await self.model.answer(request)
            except TransientError as problem:
                if problem.settles is not None:  # paid for like any other, whatever the next try says
                    self.budget.add(problem.settles, asked)
                raise
            self.budget.add(answer, asked)
            return answer

    async def _wait(self, problem: TransientError, attempt: int) -> None:
        seconds = find_wait(problem.after, attempt)
        if seconds and time.monotonic() - self._said > _QUIET:
            self._said = time.monotonic()
            self._say(f"{problem.what}; trying again in {seconds:.0f} s ({attempt} of {self._retries})")
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped


def find_wait(after: float | None, attempt: int) -> float:
    """Seconds before the next try; `after` is what the endpoint says, 0 where the next try needs no wait.

    What it says is a lower bound: many that are told the same second come back together, and all but one are refused
    again. Waits that did not grow would then use up every try within seconds.
    """
    if after == 0:
        return 0.0
    backoff = min(0.5 * 2.0**attempt, _LONGEST_BACKOFF)
    return max(after or 0.0, 0.75 * backoff) + random.uniform(0.0, 0.25) * backoff
