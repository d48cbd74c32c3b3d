"""A client of OpenEnv gets prompts and rewards from a real server. Skipped where verifiers is installed, as in CI."""

import threading
from importlib.util import find_spec

import pytest

if find_spec("openenv") is None:
    pytest.skip("openenv is not installed: pip install 'dlbench[openenv]'", allow_module_level=True)

import uvicorn
from openenv.core import GenericEnvClient
from openenv.core.env_server import create_app

import dlbench
from dlbench.bridges.openenv import Answer, DLBenchEnvironment, Prompt
from tests.bridges.test_trl import ANSWERS, break_step
from tests.cli.test_judging import ID
from tests.conftest import write_toy
from tests.test_public_judge import STEP


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    root = break_step(write_toy(tmp_path_factory.mktemp("openenv")))
    with dlbench.Judge(dlbench.load(root=root), workers=2) as judge:
        app = create_app(lambda: DLBenchEnvironment(judge, kind="fraction"), Answer, Prompt, max_concurrent_envs=4)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            thread.join(0.05)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True
        thread.join()


def test_answers_are_rewarded_by_their_verdicts(url):
    with GenericEnvClient(base_url=url).sync() as client:
        found = []
        for instance, text in ANSWERS:
            asked = client.reset(instance=instance).observation
            assert asked["messages"][-1]["content"].startswith("Project: toy")
            done = client.step({"text": text})
            assert done.done
            found.append((done.reward, done.observation["verdict"]["status"]))
    assert found == [(1.0, "pass"), (0.8, "fail"), (-1.0, "tampered"), (None, "harness_error")]


def test_without_an_instance_the_seed_chooses(url):
    with GenericEnvClient(base_url=url).sync() as client:
        chosen = [[client.reset(seed=seed).observation["instance"] for seed in range(20)] for _ in range(2)]
    assert chosen[0] == chosen[1]
    assert set(chosen[0]) == {ID, STEP}


def test_unknown_instance_and_second_step_are_refused(url):
    with GenericEnvClient(base_url=url).sync() as client:
        with pytest.raises(Exception, match="there is no instance 'toy/none'"):
            client.reset(instance="toy/none")
        client.reset(instance=ID)
        client.step({"text": "no code"})
        with pytest.raises(Exception, match="there is no prompt to answer"):
            client.step({"text": "no code"})
