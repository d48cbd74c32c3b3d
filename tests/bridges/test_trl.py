"""TRL's trainers get our prompts and rewards; an answer without a verdict takes no part in training."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import dlbench
from dlbench.bridges.trl import make_dataset, make_reward
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources, make_prompt_builder
from dlbench.runs.verdict import PENALTY
from tests.cli.test_judging import ID, RIGHT
from tests.conftest import write_toy
from tests.documentation.pages import ROOT, read_blocks
from tests.test_public_judge import PARTLY, STEP

TAMPERING = "import pytest\n\ndef scale(values, factor=2):\n    pytest.skip('no')\n"
needs_trl = pytest.mark.skipif(find_spec("trl") is None, reason="trl is not installed: pip install 'dlbench[trl]'")


def break_step(root: Path) -> Path:
    """One of the two instances gets a test that is not there: every answer to it is a harness error."""
    record = root / "instances/toy/Counter.step.toml"
    record.write_text(record.read_text().replace("test_step_by", "test_that_is_not_there"))
    return root


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    root = break_step(write_toy(tmp_path_factory.mktemp("trl")))
    with dlbench.Judge(dlbench.load(root=root), workers=2) as judge:
        yield judge


STEP_RIGHT = "def step(self, by=1):\n    self.count += by\n    return self.count\n"
ANSWERS = [(ID, f"Sure:\n```python\n{RIGHT}```\n"), (ID, PARTLY), (ID, TAMPERING), (STEP, STEP_RIGHT)]
"""Right, right but for one of five tests, tampering, and one that cannot be judged."""


@pytest.mark.parametrize(("kind", "expected"), [("pass", [1, 0, PENALTY, None]), ("fraction", [1, 0.8, PENALTY, None])])
def test_rewards_of_a_batch_come_in_its_order(judge, kind, expected, caplog):
    instances, texts = zip(*ANSWERS, strict=True)
    chats = [[{"role": "assistant", "content": text}] for text in texts]
    reward, logged = make_reward(judge, kind), []
    # what TRL passes: all by name, every column of the dataset, and its own tools
    given = {"prompts": [[]] * 4, "completion_ids": [[1]] * 4, "instance": list(instances), "trainer_state": None}
    assert reward(completions=list(texts), **given) == expected
    assert reward(completions=chats, log_metric=lambda *metric: logged.append(metric), **given) == expected
    assert [value for name, value in logged if name == "dlbench/tests_passed"] == [1, 0.8, 0]
    assert [value for name, value in logged if name == "dlbench/status_harness_error"] == [0, 0, 0, 1]
    assert "harness error, left out: toy/toy.core.Counter.step: the reference does not pass" in caplog.text


def test_dataset_has_the_prompts_of_dlbench_run(judge):
    rows = make_dataset(judge.benchmark, technique="few-shot-random", shots=1)
    prompts = make_prompt_builder(Sources(judge.benchmark), "few-shot-random", 1, 0, 6000)
    assert {row["instance"]: [row["prompt"]] for row in rows} == {
        one.id: prompts.build(one).turns for one in judge.benchmark.instances.values()
    }
    assert make_dataset(judge.benchmark, "demo")["instance"][:] == [ID]


def test_wrong_options_are_refused_before_training(judge):
    with pytest.raises(
        DLBenchError, match="does not give the reward 'partial'\n  fix: use one of: pass, plus, fraction"
    ):
        make_reward(judge, "partial")
    with pytest.raises(DLBenchError, match="fix: open the judge with graded=True"):
        make_reward(judge, "graded")
    with pytest.raises(DLBenchError, match="self-planning needs several answers"):
        make_dataset(judge.benchmark, technique="self-planning")


def write_tiny_model(folder: Path) -> Path:
    """A model of one layer with random weights, and a tokenizer of bytes: nothing is downloaded."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer, raw.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator([], trainers.BpeTrainer(special_tokens=["<pad>", "<end>"], initial_alphabet=alphabet))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<end>")
    tokenizer.chat_template = "{% for one in messages %}{{ one['content'] }}<end>{% endfor %}"
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    tokens = {"vocab_size": len(tokenizer), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    Qwen2ForCausalLM(Qwen2Config(**sizes, num_key_value_heads=2, **tokens)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@needs_trl
@pytest.mark.slow
def test_grpo_trains_on_the_rewards_of_the_judge(judge, tmp_path):
    """The answers are scripted, since a random model writes no code; rewards, advantages and steps are TRL's own."""
    from trl import GRPOConfig, GRPOTrainer

    def answer(prompts, trainer):
        encode, ids = trainer.processing_class.encode, []
        for place, prompt in enumerate(prompts):
            text = STEP_RIGHT if "Counter" in prompt[-1]["content"] else ANSWERS[place % 3][1]
            ids.append([*encode(text), 1])
        return {"prompt_ids": [[5]] * len(ids), "completion_ids": ids, "logprobs": [[0.0] * len(one) for one in ids]}

    trainer = GRPOTrainer(
        model=str(write_tiny_model(tmp_path / "model")),
        reward_funcs=make_reward(judge, "fraction"),
        train_dataset=make_dataset(judge.benchmark),
        rollout_func=answer,
        args=GRPOConfig(
            output_dir=str(tmp_path / "out"),
            per_device_train_batch_size=6,
            num_generations=3,
            max_steps=2,
            max_completion_length=256,
            logging_steps=1,
            report_to="none",
            use_cpu=True,
        ),
    )
    trainer.train()
    first, second, _ = trainer.state.log_history
    assert first["dlbench/status_harness_error"] == 0.5
    assert first["rewards/dlbench/mean"] == pytest.approx((1 + 0.8 + PENALTY) / 3), "a harness error is no reward of 0"
    assert first["grad_norm"] > 0
    assert second["step"] == 2


@needs_trl
@pytest.mark.slow
def test_program_of_the_page_trains_a_model(tmp_path):
    (block,) = (one for one in read_blocks(ROOT / "docs/training.md") if one.language == "python")
    assert len(block.lines) <= 40
    root = write_toy(tmp_path)
    (root / "splits/train.txt").write_text(f"{ID}\n")
    (tmp_path / "train-set").symlink_to(root)
    program = "\n".join(block.lines)
    changes = {
        "Qwen/Qwen3-0.6B": str(write_tiny_model(tmp_path / "model")),
        "max_steps=500": "max_steps=2, use_cpu=True",
        "workers=8": "workers=2",
        "max_completion_length=1024": "max_completion_length=16",
        "gradient_accumulation_steps=4": "gradient_accumulation_steps=1",  # there is one prompt
    }
    for old, new in changes.items():
        assert old in program
        program = program.replace(old, new)
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "rewards/dlbench/mean" in ended.stdout
    assert (tmp_path / "trained/model.safetensors").is_file()
