"""OpenEnv: an environment whose observation is the prompt of an instance and whose one step is the answer to it."""

from random import Random
from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State

from dlbench.api import Judge
from dlbench.bridges.shared import build_single_turns, require_reward
from dlbench.errors import DLBenchError
from dlbench.registry import find_known
from dlbench.runs.verdict import Reward


class Answer(Action):
    text: str


class Prompt(Observation):
    """After the step `verdict` is the verdict's record, and `reward` is None if it is a harness error."""

    instance: str
    messages: list[dict[str, str]]
    verdict: dict[str, Any] | None = None


class DLBenchEnvironment(Environment[Answer, Prompt, State]):
    """The server calls `reset` and `step` in threads; sessions share the judge."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self, judge: Judge, split: str = "full", kind: str = Reward.PASS, technique: str = "zero-shot"
    ) -> None:
        super().__init__()
        require_reward(judge, kind)
        self._judge, self._kind, self._state = judge, kind, State()
        self._prompts = {one.id: first for one, first in build_single_turns(judge.benchmark, split, technique)}
        self._asked: Prompt | None = None

    @property
    def state(self) -> State:
        return self._state

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, instance: str | None = None, **unused: object
    ) -> Prompt:
        """The prompt of an instance; by default of a random one."""
        chosen = instance or Random(seed).choice(list(self._prompts))
        messages = find_known(chosen, self._prompts, "instance")
        self._state = State(episode_id=episode_id)
        self._asked = Prompt(instance=chosen, messages=messages)
        return self._asked

    def step(self, action: Answer, timeout_s: float | None = None, **unused: object) -> Prompt:
        if self._asked is None:
            raise DLBenchError("there is no prompt to answer", fix="call reset before each step")
        asked, self._asked = self._asked, None
        self._state.step_count += 1
        found = self._judge.judge(asked.instance, action.text, is_answer=True)
        answered = {"done": True, "reward": found.reward(self._kind), "verdict": found.as_record()}
        return Prompt(instance=asked.instance, messages=asked.messages, **answered)
