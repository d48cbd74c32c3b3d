"""Parse the Dockerfile into stages, for the few instructions that we use."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?")


@dataclass
class Stage:
    name: str
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all_of(self, instruction: str) -> list[str]:
        return [text for word, text in self.steps if word == instruction]


def read_stages(text: str) -> dict[str, Stage]:
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stage = stages[name] = Stage(name, base)
        elif word and stage:
            stage.steps.append((word, rest.strip()))
    return stages


def find_faults(stages: dict[str, Stage]) -> list[str]:
    """What hadolint does not look at, or only where nobody tells it not to."""
    faults = []
    for stage in stages.values():
        if stage.base not in stages and not PINNED.fullmatch(stage.base):
            faults.append(f"{stage.name}: the base is not pinned to a whole version")
        if not name_user(stages, stage) and stage.all_of("ENTRYPOINT"):
            faults.append(f"{stage.name}: it runs as root")
        for word, text in stage.steps:
            if word == "ADD":
                faults.append(f"{stage.name}: ADD can fetch and unpack; COPY cannot")
            if word in ("ENTRYPOINT", "CMD") and not isinstance(_as_json(text), list):
                faults.append(f"{stage.name}: {word} goes through a shell")
            if word in ("ARG", "ENV") and re.search(r"(KEY|TOKEN|SECRET|PASSWORD)\b", text):
                faults.append(f"{stage.name}: a secret would stay in the image's history")
            if word == "RUN":
                faults += [f"{stage.name}: {fault}" for fault in _look_at(text)]
    return faults


def _look_at(command: str) -> list[str]:
    faults = []
    if "apt-get install" in command:
        if "rm -rf /var/lib/apt/lists/*" not in command or "apt-get update" not in command:
            faults.append("apt's lists are old, or stay in the image")
        if "--no-install-recommends" not in command:
            faults.append("apt brings more than what was asked for")
    for part in re.split(r"&&|;", command):
        if re.search(r"\bpip install\b", part) and not re.search(r"--require-hashes|--no-deps --no-index", part):
            faults.append(f"pip takes what no hash pins: {part.strip()}")
    if re.search(r"\b(curl|wget|sudo)\b", command):
        faults.append("it fetches what nobody pinned, or takes rights that it should not need")
    return faults


def name_user(stages: dict[str, Stage], stage: Stage) -> str:
    """Who runs in it in the end; nobody named is root."""
    users = stage.all_of("USER")
    if users:
        return "" if users[-1].split(":")[0] in ("0", "root") else users[-1]
    return name_user(stages, stages[stage.base]) if stage.base in stages else ""


def _as_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
