"""TRL's trainers on a tiny random model: the tokens that bear loss in both ways, and a step with a tool."""

import json
from pathlib import Path

import backchat
import pytest

for package in ("torch", "transformers", "trl", "datasets"):
    pytest.importorskip(package)

import datasets
import transformers
import trl
from backchat.integrations.trl import tokens_and_mask

CHAT_TEMPLATE = (Path(__file__).parents[2] / "chat_templates" / "hermes.jinja").read_text(encoding="utf-8")
CHAT = [
    {"role": "user", "content": "Qwerty?"},
    {"role": "assistant", "content": "Hello there."},
    {"role": "user", "content": "Asdf."},
    {"role": "assistant", "content": "Bye bye."},
]
STEP = {"max_steps": 1, "per_device_train_batch_size": 2, "report_to": [], "use_cpu": True, "bf16": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with random weights whose tokens are bytes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokens = Tokenizer(models.BPE())
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokens.train_from_iterator([], trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False))
    tokens.add_special_tokens([AddedToken(mark, special=True) for mark in ("<|im_start|>", "<|im_end|>")])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens, eos_token="<|im_end|>", pad_token="<|im_end|>"
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        vocab_size=len(tokenizer),
        max_position_embeddings=4096,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    path = tmp_path_factory.mktemp("model")
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def trained(folder, tmp_path, tokenizer, rows, **options):
    """The text that bears loss in a step of TRL's trainer."""
    trainer = trl.SFTTrainer(
        model=transformers.AutoModelForCausalLM.from_pretrained(folder),
        args=trl.SFTConfig(str(tmp_path), **STEP, **options),
        train_dataset=rows,
        processing_class=tokenizer,
    )
    labels = next(iter(trainer.get_train_dataloader()))["labels"][0].tolist()
    trainer.train()
    return tokenizer.decode([label for label in labels if label != -100])


def test_blocks_make_a_template_trainable(folder, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = backchat.add_generation_blocks(tokenizer.chat_template).chat_template
    rows = datasets.Dataset.from_list([{"messages": CHAT}] * 2)
    text = trained(folder, tmp_path, tokenizer, rows, assistant_only_loss=True)
    assert "Hello there." in text and "Bye bye." in text and "Qwerty" not in text and "Asdf" not in text


def test_a_column_of_masks_needs_no_other_template(folder, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = datasets.Dataset.from_list([{"messages": CHAT}] * 2)
    rows = rows.map(lambda row: tokens_and_mask(row, tokenizer=tokenizer), remove_columns=["messages"])
    text = trained(folder, tmp_path, tokenizer, rows)
    assert "Hello there." in text and "Bye bye." in text and "Qwerty" not in text and "Asdf" not in text
    assert tokenizer.chat_template == CHAT_TEMPLATE


def test_grpo_runs_with_a_tool(folder, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "examples"))
    import trl_grpo

    monkeypatch.setattr(
        trl_grpo,
        "GRPOConfig",
        lambda output, **options: trl.GRPOConfig(output, **{**options, **STEP, "max_completion_length": 16}),
    )
    prompts = tmp_path / "prompts.jsonl"
    row = {"prompt": [{"role": "user", "content": "Weather in Rome?"}], "city": "Rome"}
    prompts.write_text(f"{json.dumps(row)}\n" * 2)
    trl_grpo.main(str(folder), str(prompts), str(tmp_path / "out"), "1")
    right = {"function": {"name": "get_weather", "arguments": {"city": "Rome"}}}
    asked = [[{"role": "assistant", "tool_calls": [right]}], [{"role": "assistant", "content": "Mild."}]]
    assert trl_grpo.asks_for_the_city(asked, ["Rome", "Rome"]) == [1.0, 0.0]
