"""Rows for TRL's trainers: the ids and masks that transformers gives for the same columns."""

import json

import pytest
from test_tokens import text_of_tokenizer

transformers = pytest.importorskip("transformers", minversion="5.24")
tokenizers = pytest.importorskip("tokenizers")

from backchat.integrations.trl import tokens_and_mask

CHAT = (
    "{% if tools is not none %}<tool>{{ tools | tojson }}<end>{% endif %}{% if think %}<think>{% endif %}"
    "{% for m in messages %}{% if m.role == 'assistant' %}<model>{% generation %}{{ m.content }}<end>{% endgeneration %}"
    "{% else %}<{{ m.role }}>{{ m.content }}<end>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<model>{% endif %}"
)
MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]


@pytest.mark.parametrize("columns", [{}, {"tools": []}, {"tools": TOOLS}, {"chat_template_kwargs": {"think": True}}])
@pytest.mark.parametrize("chat_template", [CHAT, {"default": CHAT, "tool_use": "<call>" + CHAT}], ids=["one", "two"])
def test_columns_are_those_of_the_trainer(columns, chat_template):
    backend = tokenizers.Tokenizer.from_str(text_of_tokenizer())
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend)
    tokenizer.chat_template = chat_template
    options = {"return_dict": True, "return_assistant_tokens_mask": True, **columns.get("chat_template_kwargs", {})}
    wanted = tokenizer.apply_chat_template(MESSAGES, columns.get("tools"), **options)
    wanted = {key: wanted[key] for key in ("input_ids", "assistant_masks")}
    row = {"messages": MESSAGES, "tools": None, "chat_template_kwargs": None, **columns}
    assert tokens_and_mask(row, tokenizer=tokenizer) == wanted
    assert tokens_and_mask({**row, "tools": json.dumps(row["tools"])}, tokenizer=tokenizer) == wanted
