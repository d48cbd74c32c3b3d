"""Read answers and verdicts from inspect logs, and write a run as an inspect log.

What cannot be read is reported with its reason: an answer dropped silently would change a score. A written log has the
task, scorer and ids of our inspect task, so that inspect's viewer compares both kinds of logs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, cast

from inspect_ai import log as inspect_log
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage, StopReason

from dlbench.bridges.inspect import CUT, as_chat, as_score
from dlbench.dataset import Benchmark, Instance
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines
from dlbench.runs import REQUESTS, SAMPLES, Run, read_run
from dlbench.runs.samples import Sample, read_samples
from dlbench.runs.verdict import Verdict

IS_CODE = "is_code"
"""In the metadata of a sample that was code rather than an answer."""
NOTES = ("technique", "shots", "predicted_stage", "cut")
"""Fields that a sample record and the metadata of an inspect sample share."""
SETTINGS = ("technique", "shots", "prompt_tokens", "seed", "canary", "timeout", "memory")
"""Settings that a run's configuration and the task's options share."""
VERSIONS = ("dlbench", "benchmark")
_FIX = "pass a log that `inspect eval` wrote, .eval or .json"


@dataclass
class ImportedLog:
    """`left_out`: which sample, and why."""

    config: dict[str, Any]
    samples: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def read_log(path: Path, benchmark: Benchmark) -> ImportedLog:
    """Records of `samples.jsonl` and `verdicts.jsonl`, sorted by instance and sample."""
    log = _open(path)
    found = ImportedLog(make_config(log.eval))
    for sample in _read_samples(path):
        name = f"{sample.id} (epoch {sample.epoch})"
        if sample.error is not None:
            found.left_out.append((name, f"it ended with an error: {sample.error.message.splitlines()[0]}"))
        elif not sample.output.choices:
            found.left_out.append((name, "it has no answer"))
        elif sample.id not in benchmark.instances:
            found.left_out.append((name, "the benchmark has no such instance"))
        else:
            _add(sample, log.eval.model, name, found)
    if not found.samples:
        reasons = sorted({why for _, why in found.left_out})
        what = f"no answer can be read: {'; '.join(reasons)}" if reasons else "there is no sample in the log"
        raise DLBenchError(what, where=str(path), fix="pass a log of answers to this benchmark's instances")
    for records in (found.samples, found.verdicts):
        records.sort(key=lambda record: (record["instance"], record["sample"]))
    return found


def _open(path: Path) -> EvalLog:
    if not path.is_file():
        raise DLBenchError("there is no such file", where=str(path), fix=_FIX)
    try:
        return inspect_log.read_eval_log(path, header_only=True)
    except Exception as error:  # inspect raises many kinds of errors for a damaged log
        raise DLBenchError(f"not an inspect log: {error}", where=str(path), fix=_FIX) from None


def _read_samples(path: Path) -> Iterator[EvalSample]:
    """One at a time: with its events, an .eval log can exceed memory."""
    try:
        if path.suffix == ".json":  # inspect would read the whole file for each sample
            yield from inspect_log.read_eval_log(path, resolve_attachments=True).samples or []
            return
        for one in inspect_log.read_eval_log_sample_summaries(path):
            yield inspect_log.read_eval_log_sample(
                path, one.id, one.epoch, resolve_attachments=True, exclude_fields={"events"}
            )
    except (OSError, ValueError, KeyError) as error:
        raise DLBenchError(f"its samples cannot be read: {error}", where=str(path), fix=_FIX) from None


def make_config(spec: EvalSpec) -> dict[str, Any]:
    """A run's configuration, as far as the log has it."""
    metadata, options = spec.metadata or {}, spec.task_args
    version = {name: metadata[name] for name in VERSIONS if name in metadata}
    known = {name: options[name] for name in SETTINGS if name in options}
    return version | {"model": spec.model, "from": f"inspect, {spec.created}"} | known


def _add(sample: EvalSample, model: str, name: str, found: ImportedLog) -> None:
    output = sample.output
    key = "code" if sample.metadata.get(IS_CODE) else "answer"
    record = {"instance": str(sample.id), "sample": sample.epoch - 1, "model": model, key: output.completion}
    record["finish_reason"] = "length" if output.stop_reason in CUT else str(output.stop_reason)
    if usage := _total(sample):
        record["usage"] = _as_usage(usage)
    if output.time is not None:
        record["seconds"] = round(output.time, 3)
    found.samples.append(record | {note: sample.metadata[note] for note in NOTES if note in sample.metadata})
    verdict = _find_verdict(sample)
    if verdict is None:
        return
    judged = Sample(verdict.instance, verdict.sample, output.completion)
    if (verdict.instance, verdict.sample) != (sample.id, sample.epoch - 1) or verdict.answer_sha256 != judged.sha256:
        found.left_out.append((name, "its verdict is on another answer; only the answer is read"))
    else:
        found.verdicts.append(verdict.as_record())


def _total(sample: EvalSample) -> ModelUsage | None:
    """Of all turns; a log that inspect did not write may have only the last."""
    if not sample.model_usage:
        return sample.output.usage
    return reduce(add, sample.model_usage.values())


def _as_usage(usage: ModelUsage) -> dict[str, Any]:
    prompt = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    tokens = {"prompt_tokens": prompt, "completion_tokens": usage.output_tokens, "total_tokens": usage.total_tokens}
    return tokens | ({"cost": usage.total_cost} if usage.total_cost is not None else {})


def _find_verdict(sample: EvalSample) -> Verdict | None:
    """Of our scorer, whatever its name in the log; other scorers have other metadata."""
    for score in (sample.scores or {}).values():
        if {"instance", "status", "tests", "answer_sha256"} <= set(score.metadata or {}):
            return Verdict.from_record(dict(score.metadata or {}), f"{sample.id} (epoch {sample.epoch})")
    return None


TASK, SCORER = "dlbench/dl_bench", "verdict"
Key = tuple[str, int]
_STOPS = {"length": "max_tokens", "context_length": "model_length", "stop": "stop", "content_filter": "content_filter"}


def write_log(folder: Path, benchmark: Benchmark, out: Path) -> int:
    """Returns the number of samples. The log is written completely or not at all."""
    if out.exists():
        raise DLBenchError("this exists already", where=str(out), fix="pass --out a new file")
    if out.suffix not in (".eval", ".json"):
        raise DLBenchError("not an inspect log file name", where=str(out), fix="use the suffix .eval or .json")
    log = make_log(read_run(folder), benchmark)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.part{out.suffix}")
    try:
        inspect_log.write_eval_log(log, part)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return len(log.samples or [])


def make_log(run: Run, benchmark: Benchmark) -> EvalLog:
    path = run.folder / SAMPLES
    answers = read_samples(path, benchmark)
    requests = _read_requests(run.folder / REQUESTS)
    verdicts = {(record["instance"], record["sample"]): Verdict.from_record(record) for record in run.verdicts}
    samples = []
    for sample, (_, record) in zip(answers, read_lines(path), strict=True):
        instance = benchmark.instances[sample.instance]
        question = requests.get(sample.key) or [ChatMessageUser(content=instance.prompt.strip())]
        samples.append(_make_sample(sample, record, question, instance, run.name, verdicts.get(sample.key)))
    log = EvalLog(status="success", eval=_make_spec(run, answers), samples=samples)
    if verdicts:
        inspect_log.recompute_metrics(log)
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
    """The last request of each sample; it contains the earlier turns."""
    if not path.is_file():
        return {}
    found: dict[Key, tuple[int, list[ChatMessage]]] = {}
    for _, record in read_lines(path):
        match record:
            case {"instance": str(one), "sample": int(sample), "turn": int(turn), "request": {"messages": sent}}:
                if turn >= found.get((one, sample), (0, []))[0]:
                    found[one, sample] = turn, as_chat(sent)
    return {key: messages for key, (_, messages) in found.items()}
