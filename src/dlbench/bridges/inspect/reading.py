"""What does an inspect log hold that is ours?

Answers to our instances, whoever asked for them, and our verdicts where our judge was the scorer. What cannot be taken
is named with its reason: an answer dropped in silence would change a score, and so would a verdict on another answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, EvalSpec, read_eval_log, read_eval_log_sample_summaries
from inspect_ai.log import read_eval_log_sample as read_one
from inspect_ai.model import ModelUsage

from dlbench.bridges.inspect.scorer import CUT
from dlbench.dataset import Benchmark
from dlbench.errors import DLBenchError
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Verdict

IS_CODE = "is_code"
"""In the metadata of a sample that was code alone, and not a model's words."""
NOTES = ("technique", "shots", "predicted_stage", "cut")
"""What a sample's record and its metadata both say of how it was asked."""
SETTINGS = ("technique", "shots", "prompt_tokens", "seed", "canary", "timeout", "memory")
"""What a run's configuration and a task's options both say, by the same names."""
VERSIONS = ("dlbench", "benchmark")
_MEND = "give a log that `inspect eval` wrote, .eval or .json"


@dataclass
class Found:
    """`left_out`: which sample, and why."""

    config: dict[str, Any]
    samples: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def read_log(path: Path, benchmark: Benchmark) -> Found:
    """Records as `samples.jsonl` and `verdicts.jsonl` hold them, by instance and sample."""
    log = _open(path)
    found = Found(make_config(log.eval))
    for sample in _read_samples(path):
        name = f"{sample.id} (epoch {sample.epoch})"
        if sample.error is not None:
            found.left_out.append((name, f"it ended with an error: {sample.error.message.splitlines()[0]}"))
        elif not sample.output.choices:
            found.left_out.append((name, "it has no answer"))
        elif sample.id not in benchmark.instances:
            found.left_out.append((name, "the benchmark has no such instance"))
        else:
            _take(sample, log.eval.model, name, found)
    if not found.samples:
        reasons = sorted({why for _, why in found.left_out})
        what = f"no answer can be taken: {'; '.join(reasons)}" if reasons else "there is no sample in the log"
        raise DLBenchError(what, where=str(path), mend="give a log of answers to this benchmark's instances")
    for records in (found.samples, found.verdicts):
        records.sort(key=lambda record: (record["instance"], record["sample"]))
    return found


def _open(path: Path) -> EvalLog:
    if not path.is_file():
        raise DLBenchError("there is no such file", where=str(path), mend=_MEND)
    try:
        return read_eval_log(path, header_only=True)
    except Exception as error:  # inspect tells a damaged log in as many ways as it reads it
        raise DLBenchError(f"not a log of inspect: {error}", where=str(path), mend=_MEND) from None


def _read_samples(path: Path) -> Iterator[EvalSample]:
    """One at a time: with its events, an .eval log can be more than memory holds."""
    try:
        if path.suffix == ".json":  # of which inspect reads the whole for each sample
            yield from read_eval_log(path, resolve_attachments=True).samples or []
            return
        for told in read_eval_log_sample_summaries(path):
            yield read_one(path, told.id, told.epoch, resolve_attachments=True, exclude_fields={"events"})
    except (OSError, ValueError, KeyError) as error:
        raise DLBenchError(f"its samples cannot be read: {error}", where=str(path), mend=_MEND) from None


def make_config(spec: EvalSpec) -> dict[str, Any]:
    """A run's configuration, as far as the log tells it."""
    told = spec.metadata or {}
    given = spec.task_args
    known = {name: given[name] for name in SETTINGS if name in given}
    version = {name: told[name] for name in VERSIONS if name in told}
    return version | {"model": spec.model, "from": f"inspect, {spec.created}"} | known


def _take(sample: EvalSample, model: str, name: str, found: Found) -> None:
    output = sample.output
    key = "code" if sample.metadata.get(IS_CODE) else "answer"
    record = {"instance": str(sample.id), "sample": sample.epoch - 1, "model": model, key: output.completion}
    record["finish_reason"] = "length" if output.stop_reason in CUT else str(output.stop_reason)
    usage = _total(sample)
    if usage is not None:
        record["usage"] = _as_usage(usage)
    if output.time is not None:
        record["seconds"] = round(output.time, 3)
    found.samples.append(record | {note: sample.metadata[note] for note in NOTES if note in sample.metadata})
    verdict = _find_verdict(sample)
    if verdict is None:
        return
    judged = Sample(verdict.instance, verdict.sample, output.completion)
    if (verdict.instance, verdict.sample) != (sample.id, sample.epoch - 1) or verdict.answer_sha256 != judged.sha256:
        found.left_out.append((name, "its verdict is on another answer; the answer itself is taken"))
    else:
        found.verdicts.append(verdict.as_record())


def _total(sample: EvalSample) -> ModelUsage | None:
    """Of all turns; a log that was not written by inspect itself may tell only the last."""
    if not sample.model_usage:
        return sample.output.usage
    first, *others = sample.model_usage.values()
    for usage in others:
        first = first + usage
    return first


def _as_usage(usage: ModelUsage) -> dict[str, Any]:
    asked = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    told = {"prompt_tokens": asked, "completion_tokens": usage.output_tokens, "total_tokens": usage.total_tokens}
    return told | ({"cost": usage.total_cost} if usage.total_cost is not None else {})


def _find_verdict(sample: EvalSample) -> Verdict | None:
    """That of our scorer, whatever name the log gives it; another's metadata does not read as one."""
    for score in (sample.scores or {}).values():
        if {"instance", "status", "tests", "answer_sha256"} <= set(score.metadata or {}):
            return Verdict.from_record(dict(score.metadata or {}), f"{sample.id} (epoch {sample.epoch})")
    return None
