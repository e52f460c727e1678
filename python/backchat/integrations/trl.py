"""Tokens and loss masks for TRL's trainers, from chat templates without generation blocks.

>>> from functools import partial
>>> rows = dataset.map(partial(tokens_and_mask, tokenizer=tokenizer))    # doctest: +SKIP
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import backchat
from backchat.integrations._model import chat_template_of, variables_of


def tokens_and_mask(
    row: dict[str, Any], *, tokenizer: Any, parts: str | Sequence[str] = ("assistant",)
) -> dict[str, list[int]]:
    """The `input_ids` of a row's `messages`, and `assistant_masks`: 1 for each token that the model wrote.

    `SFTTrainer` takes both columns unchanged, with any chat template. As there, a row may have `tools`, a list or its
    JSON, and `chat_template_kwargs`. `parts` selects the parts that bear loss, as in `backchat.mask`. Raises
    `ValueError` if a turn cannot be located.
    """
    messages, tools = row["messages"], row.get("tools")
    tools = json.loads(tools) if isinstance(tools, str) else tools
    chat_template = chat_template_of(tokenizer, for_tools=tools is not None)
    if chat_template is None:
        raise ValueError("the tokenizer has no chat template")
    variables = {**variables_of(tokenizer), **(row.get("chat_template_kwargs") or {})}
    text = backchat.render(chat_template, messages, tools=tools, variables=variables).text
    tokens = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    offsets = [list(span) for span in tokens["offset_mapping"]]
    masked = backchat.mask(chat_template, messages, tools=tools, parts=parts, offsets=offsets, variables=variables)
    if masked.mask is None or masked.problems:
        raise ValueError("; ".join(masked.problems) or "no token of this conversation can be masked")
    return {"input_ids": tokens["input_ids"], "assistant_masks": [int(is_own) for is_own in masked.mask]}
