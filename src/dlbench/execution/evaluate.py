"""How do many samples become verdicts, so that a kill at any moment loses nothing and counts nothing twice?

Every verdict is on disk before its worker takes the next sample. A second start reads what is there, checks that it
speaks of the same answers, and does the rest; at the end the file stands in the order of the samples, as if nothing had
happened. Verdicts that were our own fault are tried again.
"""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from dlbench.dataset import Benchmark
from dlbench.errors import DLBenchError
from dlbench.execution.fresh import Engine, judge, refuse
from dlbench.execution.samples import Sample
from dlbench.execution.supervise import stop_all
from dlbench.execution.verdict import VERDICTS, Status, Verdict
from dlbench.generation.extract import extract
from dlbench.journal import Journal, read_lines, rewrite
from dlbench.workspace import Prepared


def evaluate(
    benchmark: Benchmark,
    prepared: dict[str, Prepared],
    samples: list[Sample],
    out: Path,
    engine: Engine,
    *,
    workers: int = 1,
    on_verdict: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    path = out / VERDICTS
    with Journal(path) as journal:
        done = _read_done(samples, path)
        for verdict in done.values():
            on_verdict(verdict)

        def work(sample: Sample) -> Verdict:
            instance = benchmark.instances[sample.instance]
            verdict = judge_sample(engine, prepared[instance.project], benchmark, sample)
            journal.append(verdict.as_record())
            return verdict

        waiting = [sample for sample in samples if sample.key not in done]
        with ThreadPoolExecutor(workers) as pool:
            try:
                pending: set[Future[Verdict]] = {pool.submit(work, sample) for sample in waiting}
                while pending:
                    finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                    for future in finished:
                        verdict = future.result()
                        done[verdict.instance, verdict.sample] = verdict
                        on_verdict(verdict)
            except BaseException:
                stop_all()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        verdicts = [done[sample.key] for sample in samples]
        rewrite(path, (verdict.as_record() for verdict in verdicts))
    return verdicts


def judge_sample(engine: Engine, prepared: Prepared, benchmark: Benchmark, sample: Sample) -> Verdict:
    """From the model's words to the verdict."""
    instance = benchmark.instances[sample.instance]
    code: str | None = sample.text
    if not sample.is_code:
        extraction = extract(sample.text, instance.qualname)
        code = extraction.code
        reason = extraction.reason
    else:
        reason = "the code is empty" if not sample.text.strip() else ""
        code = None if reason else code
    if code is None:
        verdict = refuse(instance, sample.sample, Status.NO_CODE, reason)
    else:
        try:
            verdict = judge(engine, prepared, instance, code, sample.sample)
        except Exception as error:  # whatever it is, it is our fault, and one sample must not end a run
            verdict = refuse(instance, sample.sample, Status.HARNESS_ERROR, f"{type(error).__name__}: {error}")
    record = verdict.as_record() | {"answer_sha256": sample.sha256}
    return Verdict.from_record(record)


def _read_done(samples: list[Sample], path: Path) -> dict[tuple[str, int], Verdict]:
    hashes = {sample.key: sample.sha256 for sample in samples}
    done: dict[tuple[str, int], Verdict] = {}
    for number, record in read_lines(path):
        verdict = Verdict.from_record(record, f"{path}:{number}")
        key = (verdict.instance, verdict.sample)
        if hashes.get(key) != verdict.answer_sha256:
            raise DLBenchError(
                f"the folder holds a verdict on another answer to {verdict.instance} (sample {verdict.sample})",
                where=str(path),
                mend="evaluate into a new --out folder, or remove this one",
            )
        done[key] = verdict
    return {key: verdict for key, verdict in done.items() if verdict.status is not Status.HARNESS_ERROR}
