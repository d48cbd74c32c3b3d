"""verifiers: the benchmark as a taskset whose reward is our verdict, answered in one turn (docs/training.md).

verifiers finds an environment by the name of a top-level module; `dlbench_env` exports what is defined here.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future

import verifiers.v1 as vf
from openai import AsyncOpenAI

from dlbench.api import Judge
from dlbench.bridges.shared import build_single_turns, find_judge, measure
from dlbench.errors import DLBenchError
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Reward, Verdict


class JudgeConfig(vf.TaskConfig):
    """The reward, the benchmark's folder (None: the bundled one), and options of `dlbench.Judge`."""

    kind: Reward = Reward.PASS
    benchmark: str | None = None
    workers: int | None = None
    sandbox: str = "auto"
    mode: str = "auto"
    confirm: str = "all"
    timeout: float = 60.0
    memory: int = 4096
    fail_fast: bool = False

    def find_judge(self) -> Judge:
        if self.fail_fast and self.kind is not Reward.PASS:
            raise DLBenchError(f"the reward {self.kind} needs all tests", fix="remove fail_fast, or use the kind pass")
        options = self.model_dump(include={"workers", "sandbox", "mode", "confirm", "timeout", "memory", "fail_fast"})
        return find_judge(self.benchmark, graded=self.kind is Reward.GRADED, **options)


class DLBenchTask(vf.Task[vf.TaskData, vf.State, JudgeConfig]):
    @vf.reward
    async def verdict(self, trace: vf.Trace) -> float:
        """An error fails the rollout, and verifiers records no reward: an answer without a verdict must not get a 0."""
        sample = Sample(self.data.id, 0, trace.last_reply, is_truncated=trace.is_truncated)
        future: Future[Verdict] = await asyncio.to_thread(lambda: self.config.find_judge().submit(sample))
        found = await asyncio.wrap_future(future)
        trace.info["verdict"] = found.as_record()
        trace.record_metrics(measure(found))
        reward = found.reward(self.config.kind)
        if reward is None:
            fix = "run `vf-eval` again with --resume"
            raise DLBenchError(f"harness error, not judged: {found.message}", where=found.instance, fix=fix)
        return reward


class DLBenchTasksetConfig(vf.TasksetConfig):
    task: JudgeConfig = JudgeConfig()
    split: str = "full"
    technique: str = "zero-shot"
    shots: int = 3
    prompt_tokens: int = 6000
    seed: int = 0


class DLBenchTaskset(vf.Taskset[DLBenchTask, DLBenchTasksetConfig]):
    def load(self) -> Iterator[DLBenchTask]:
        options = self.config.model_dump(include={"split", "technique", "shots", "prompt_tokens", "seed"})
        benchmark = self.config.task.find_judge().benchmark  # opened here: wrong options end the run, not each rollout
        for instance, (system, *messages) in build_single_turns(benchmark, **options):
            text, *rest = messages  # several messages are examples; many harnesses take only text
            prompt = messages if rest else text["content"]
            data = vf.TaskData(id=instance.id, name=instance.id, system_prompt=system["content"], prompt=prompt)
            yield DLBenchTask(data, self.config.task)


class OneAnswer(vf.Harness[vf.HarnessConfig]):
    """Asks once, from this process. The harnesses of verifiers start a program for each rollout."""

    APPENDS_SYSTEM_PROMPT, EXECUTES_CODE, NEEDS_CONTAINER = True, False, False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        messages = [{"role": "system", "content": data.system_prompt}] if data.system_prompt else []
        if isinstance(data.prompt, str):
            messages.append({"role": "user", "content": data.prompt})
        else:
            messages += [{"role": one.role, "content": one.content} for one in data.prompt]
        # no limit of its own: verifiers has one for the rollout
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, timeout=None) as client:
            await client.chat.completions.create(model=ctx.model, messages=messages)
        return vf.ProgramResult(0, "", "")


class DLBenchEnvConfig(vf.SingleAgentEnvConfig):
    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """On this machine: nothing but the request runs there."""


class DLBenchEnv(vf.Env[DLBenchEnvConfig]):
    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        await agents.agent.run(task)
