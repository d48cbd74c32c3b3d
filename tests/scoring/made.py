"""Synthetic benchmarks and verdicts of any size."""

from datetime import date
from pathlib import Path

from dlbench.dataset import Benchmark, Instance, Labels, Measures, Project, Version

STAGES = ("training", "inference")


def make_benchmark(instances: int = 6, projects: int = 2) -> Benchmark:
    """Projects take turns, as do two stages; every instance has ten lines more than the one before it, and is a year
    younger; every other project computes with jax."""
    names = [f"p{number}" for number in range(projects)]
    made = [_instance(number, names[number % projects]) for number in range(instances)]
    return Benchmark(
        root=Path(),
        version=Version(1, 0),
        projects={name: _project(name, "jax" if number % 2 else "torch") for number, name in enumerate(names)},
        instances={instance.id: instance for instance in made},
        splits={},
    )


def ids_of(benchmark: Benchmark) -> list[str]:
    return list(benchmark.instances)


def verdict(instance: str, passed: bool, sample: int = 0, status: str = "") -> dict:
    outcome = "passed" if passed else "failed"
    return {
        "instance": instance,
        "sample": sample,
        "status": status or ("pass" if passed else "fail"),
        "tests": {"t": outcome},
        "message": "",
    }


def verdicts(benchmark: Benchmark, *samples: str) -> list[dict]:
    """One string a sample, one character an instance: 1 passes, 0 fails, ! is our own fault."""
    return [
        verdict(instance, mark == "1", number, "harness_error" if mark == "!" else "")
        for number, marks in enumerate(samples)
        for instance, mark in zip(benchmark.instances, marks, strict=True)
    ]


def _project(name: str, framework: str) -> Project:
    return Project(
        name=name,
        version="1",
        released=date(2026, 1, 1),
        path=".",
        license="MIT",
        environment="e",
        framework=framework,
    )


def _instance(number: int, project: str) -> Instance:
    return Instance(
        id=f"{project}/m.f{number}",
        path="m.py",
        qualname=f"f{number}",
        sha256="0" * 64,
        introduced=date(2020 + number % 7, 1, 2),
        prompt="…",
        tests=("t",),
        labels=Labels(stage=STAGES[number % 2], task="general", data="others"),
        measures=Measures(loc=10 * number + 1 if number < 12 else None),
    )
