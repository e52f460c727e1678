"""Rollouts over several turns on a tiny model: no sampled id ever changes."""

import json
import sys
from pathlib import Path

import backchat
import pytest

for package in ("torch", "transformers", "trl", "datasets"):
    pytest.importorskip(package)

import datasets
import transformers
import trl

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import itertools

import rollout
from test_tokens import CHAT, TEMPLATE, text_of_tokenizer

CALL = '<call>{"name": "get_weather", "arguments": {"city": "Rome"}}</call><end>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with random weights whose tokens are bytes and markers."""
    path = tmp_path_factory.mktemp("model")
    (path / "tokens.json").write_text(text_of_tokenizer(), encoding="utf-8")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(path / "tokens.json"), eos_token="<end>", pad_token="<end>"
    )
    tokenizer.chat_template = CHAT
    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        vocab_size=263,
        max_position_embeddings=4096,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def tokenizer(folder):
    return transformers.AutoTokenizer.from_pretrained(folder)


def scripted(tokenizer, *answers):
    """Samples these outputs, and records prompts and outputs."""
    known = backchat.Tokenizer(tokenizer.backend_tokenizer.to_str())
    left, seen = [known.encode(answer) for answer in answers], []

    def sample(ids):
        seen.append((list(ids), left[0]))
        return left.pop(0)

    return sample, seen


def roll(tokenizer, sample, content="Weather?"):
    bridge = backchat.Bridge(tokenizer.chat_template, tokenizer, TEMPLATE)
    messages = [{"role": "user", "content": content}]
    prompt = backchat.render(tokenizer.chat_template, messages, add_generation_prompt=True, tokenizer=tokenizer)
    return rollout.roll_out(sample, bridge, prompt.token_ids or [], messages)


def check(made, seen):
    """Each prompt continues the previous prompt and sample, and the mask has exactly the sampled ids."""
    for (before, sampled), (after, _) in itertools.pairwise(seen):
        assert after[: len(before) + len(sampled)] == before + sampled
    own = [token for token, is_own in zip(made.completion_ids, made.own, strict=True) if is_own]
    assert own == [token for _, sampled in seen for token in sampled]


def test_a_rollout_keeps_every_sampled_id(tokenizer):
    # A spelling that the template would not write, and reasoning that it drops from history.
    respelled = '<think>Hm.<think><call>{"name":"get_weather","arguments":{"city":"Rome"}}</call><end>'
    sample, seen = scripted(tokenizer, CALL, respelled, "Mild.<end>")
    made = roll(tokenizer, sample)
    check(made, seen)
    assert (made.end, [message["role"] for message in made.messages]) == (
        "stop",
        ["user", "assistant", "tool", "assistant", "tool", "assistant"],
    )
    assert made.messages[2]["content"] == "12 degrees in Rome"
    text = backchat.Tokenizer(tokenizer.backend_tokenizer.to_str()).decode(made.completion_ids)
    assert (
        text == f"{CALL}<tool>12 degrees in Rome<end><model>{respelled}<tool>12 degrees in Rome<end><model>Mild.<end>"
    )


def test_a_rollout_ends_if_a_bridge_is_refused(tokenizer):
    sample, seen = scripted(tokenizer, f"{CALL}more")
    made = roll(tokenizer, sample)
    check(made, seen)
    assert (made.end, len(seen), sum(made.own)) == ("after-stop", 1, len(made.completion_ids))


def test_a_model_rolls_out(folder, tokenizer):
    import torch

    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    seen = []

    def sample(ids):
        written = model.generate(torch.tensor([list(ids)]), max_new_tokens=16, do_sample=True)
        seen.append((list(ids), [int(token) for token in written[0][len(ids) :]]))
        return seen[-1][1]

    check(roll(tokenizer, sample), seen)


def test_trl_trains_on_what_was_sampled(folder, tokenizer, tmp_path):
    made, seen = [], []

    def rollouts(prompts, trainer):
        for prompt in prompts:
            sample, given = scripted(tokenizer, CALL, "Mild.<end>")
            made.append(roll(tokenizer, sample, prompt[0]["content"]))
            seen.append(given)
        last = made[-len(prompts) :]
        return {
            "prompt_ids": [each.prompt_ids for each in last],
            "completion_ids": [each.completion_ids for each in last],
            "env_mask": [each.own for each in last],
            "logprobs": None,
        }

    trainer = trl.GRPOTrainer(
        model=str(folder),
        reward_funcs=lambda completions, **_: [float(len(json.dumps(completion))) for completion in completions],
        args=trl.GRPOConfig(
            str(tmp_path),
            max_steps=1,
            num_generations=2,
            per_device_train_batch_size=2,
            report_to=[],
            use_cpu=True,
            bf16=False,
        ),
        train_dataset=datasets.Dataset.from_list([{"prompt": [{"role": "user", "content": "Weather?"}]}] * 2),
        processing_class=tokenizer,
        rollout_func=rollouts,
    )
    inputs = next(iter(trainer.get_train_dataloader()))
    batch = trainer._prepare_inputs(inputs)
    for each, given in zip(made, seen, strict=True):
        check(each, given)
    row = batch["completion_ids"][0].tolist()[: len(made[0].own)]
    bears = batch["tool_mask"][0].tolist()[: len(made[0].own)]
    assert (row, bears) == (made[0].completion_ids, made[0].own)
    trainer.train()
