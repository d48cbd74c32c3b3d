"""How does a run become a log that inspect opens?

With the same task, scorer and ids that our task gives inspect, so that one of its logs and one of ours stand side by
side in its viewer, and reading it back gives the run's own samples and verdicts. Prompts are those that were sent,
where the run kept them; otherwise a sample's input is the instance's prompt.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, recompute_metrics, write_eval_log
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage, StopReason

from dlbench.bridges.inspect.reading import IS_CODE, NOTES, SETTINGS, VERSIONS
from dlbench.bridges.inspect.scorer import as_score
from dlbench.bridges.inspect.solvers import as_chat
from dlbench.dataset import Benchmark, Instance
from dlbench.errors import DLBenchError
from dlbench.generation.request_log import REQUESTS
from dlbench.jsonl import read_lines
from dlbench.runs import SAMPLES, Run, read_run
from dlbench.runs.samples import Sample, read_samples
from dlbench.runs.verdict import Verdict

TASK, SCORER = "dlbench/dl_bench", "verdict"
Key = tuple[str, int]
_STOPS = {"length": "max_tokens", "context_length": "model_length", "stop": "stop", "content_filter": "content_filter"}


def write_log(folder: Path, benchmark: Benchmark, out: Path) -> int:
    """Gives the number of samples. The log is there whole or not at all."""
    if out.exists():
        raise DLBenchError("this exists already", where=str(out), mend="give --out a file that is not there yet")
    if out.suffix not in (".eval", ".json"):
        raise DLBenchError("inspect knows no such log", where=str(out), mend="let its name end in .eval or .json")
    log = make_log(read_run(folder), benchmark)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.part{out.suffix}")
    try:
        write_eval_log(log, part)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return len(log.samples or [])


def make_log(run: Run, benchmark: Benchmark) -> EvalLog:
    given = run.folder / SAMPLES
    answers = read_samples(given, benchmark)
    asked = _read_requests(run.folder / REQUESTS)
    verdicts = {(record["instance"], record["sample"]): Verdict.from_record(record) for record in run.verdicts}
    samples = []
    for sample, (_, record) in zip(answers, read_lines(given), strict=True):
        instance = benchmark.instances[sample.instance]
        question = asked.get(sample.key) or [ChatMessageUser(content=instance.prompt.strip())]
        samples.append(_make_sample(sample, record, question, instance, run.name, verdicts.get(sample.key)))
    log = EvalLog(status="success", eval=_make_spec(run, answers), samples=samples)
    if verdicts:
        recompute_metrics(log)
    return log


def _make_spec(run: Run, answers: list[Sample]) -> EvalSpec:
    ids = list(dict.fromkeys(sample.instance for sample in answers))
    began = datetime.fromtimestamp((run.folder / SAMPLES).stat().st_mtime, UTC)
    metrics = [{"name": f"inspect_ai/{name}"} for name in ("accuracy", "stderr")]
    return EvalSpec.model_validate(
        {
            "created": began.isoformat(timespec="seconds"),
            "task": TASK,
            "task_registry_name": TASK,
            "task_version": str(run.config.get("benchmark", 0)),
            "task_args": {name: run.config[name] for name in SETTINGS if name in run.config},
            "dataset": EvalDataset(name="dlbench", samples=len(ids), sample_ids=ids, shuffled=False),
            "model": run.name,
            "config": EvalConfig(epochs=1 + max(sample.sample for sample in answers), epochs_reducer=["mean"]),
            "scorers": [{"name": SCORER, "options": {}, "metrics": metrics, "metadata": {}}],
            "metadata": {name: run.config[name] for name in VERSIONS if name in run.config},
        }
    )


def _make_sample(
    sample: Sample,
    record: Mapping[str, Any],
    question: list[ChatMessage],
    instance: Instance,
    model: str,
    verdict: Verdict | None,
) -> EvalSample:
    answer = ChatMessageAssistant(content=sample.text, source="generate", model=model)
    stop = cast(StopReason, _STOPS.get(str(record.get("finish_reason", "stop")), "unknown"))
    output = ModelOutput.from_message(answer, stop)
    output.model, output.usage, output.time = model, _read_usage(record), record.get("seconds")
    labels = {axis: str(label) for axis, label in instance.labels.model_dump().items()}
    notes = {note: record[note] for note in NOTES if note in record}
    code = {IS_CODE: True} if sample.is_code else {}
    return EvalSample(
        id=sample.instance,
        epoch=sample.sample + 1,
        input=question,
        target="",
        messages=[*question, answer],
        output=output,
        scores={SCORER: as_score(verdict, sample.text)} if verdict else None,
        metadata={"project": instance.project} | labels | notes | code,
    )


def _read_usage(record: Mapping[str, Any]) -> ModelUsage | None:
    usage = record.get("usage")
    if not isinstance(usage, dict) or not usage:
        return None
    counts = [usage.get(name) or 0 for name in ("prompt_tokens", "completion_tokens")]
    total = usage.get("total_tokens") or sum(counts)
    return ModelUsage(input_tokens=counts[0], output_tokens=counts[1], total_tokens=total, total_cost=usage.get("cost"))


def _read_requests(path: Path) -> dict[Key, list[ChatMessage]]:
    """The last turn that was sent for each sample; it has those before it."""
    if not path.is_file():
        return {}
    asked: dict[Key, tuple[int, list[ChatMessage]]] = {}
    for _, record in read_lines(path):
        match record:
            case {
                "instance": str(instance),
                "sample": int(sample),
                "turn": int(turn),
                "request": {"messages": sent},
            }:
                if turn >= asked.get((instance, sample), (0, []))[0]:
                    asked[instance, sample] = turn, as_chat(sent)
    return {key: messages for key, (_, messages) in asked.items()}
