"""Conversations full of control tokens: whole, cut, inside each other, next to white space, in names, keys and variables."""

from __future__ import annotations

from random import Random
from typing import Any

from .case import maybe

WORDS = [
    *["hi", "word", "Words", " ", "  ", "\n", "\n\n", "é", "日本", "😀", "<", "|>", "<|", "</", "_", "x=1"],
    *["\U000f0000", "\U000f0001", "'", '"', "\\"],
]


def piece(r: Random, controls: list[str]) -> str:
    token, other = r.choice(controls), r.choice(controls)
    cut = r.randrange(len(token) + 1)
    spellings = [token, token, token, token[:cut], token[cut:], token[:cut] + other + token[cut:]]
    return r.choice([*spellings, token.upper(), token * 2, r.choice(WORDS), r.choice(WORDS), r.choice(WORDS)])


def text(r: Random, controls: list[str]) -> str:
    return "".join(piece(r, controls) for _ in range(r.choice([0, 1, 1, 2, 3, 5, 8])))


def value(r: Random, controls: list[str], depth: int = 0) -> Any:
    kind = r.random()
    if depth < 2 and kind < 0.2:
        return {text(r, controls) or "key": value(r, controls, depth + 1) for _ in range(r.randrange(3))}
    if depth < 2 and kind < 0.3:
        return [value(r, controls, depth + 1) for _ in range(r.randrange(3))]
    return r.choice([1, 1.5, True]) if kind < 0.4 else text(r, controls)


def call(r: Random, controls: list[str]) -> dict[str, Any]:
    arguments = {r.choice(["city", text(r, controls)]): value(r, controls) for _ in range(r.randrange(3))}
    function = {"name": r.choice(["look", text(r, controls)]), "arguments": arguments}
    return {"type": "function", "id": "c" + text(r, controls), "function": function}


def tool(r: Random, controls: list[str]) -> dict[str, Any]:
    key = r.choice(["city", text(r, controls) or "k"])
    field = {"type": "string", "description": text(r, controls)}
    parameters = {"type": "object", "properties": {key: field}, "required": ["city"]}
    function = {"name": r.choice(["look", text(r, controls)]), "description": text(r, controls)}
    return {"type": "function", "function": {**function, "parameters": parameters}}


def turns(r: Random, controls: list[str]) -> list[dict[str, Any]]:
    """A question, the answer, and the results of its calls."""
    parts = [{"type": "text", "text": text(r, controls)}, {"type": "image"}]
    answer = {"role": "assistant", "content": text(r, controls)}
    answer |= maybe(r, 0.5, **{r.choice(["reasoning_content", "thinking", "reasoning"]): text(r, controls)})
    question = {"role": "user", "content": parts if r.random() < 0.1 else text(r, controls)}
    if r.random() < 0.6:
        return [question, answer]
    answer["tool_calls"] = [call(r, controls) for _ in range(r.choice([1, 1, 2]))]
    return [question, answer, {"role": "tool", "name": "look", "tool_call_id": "c", "content": text(r, controls)}]


def chat(r: Random, controls: list[str]) -> dict[str, Any]:
    """The arguments of one `apply_chat_template`."""
    messages = [{"role": "system", "content": text(r, controls)}] if r.random() < 0.4 else []
    for _ in range(r.randrange(1, 3)):
        messages += turns(r, controls)
    if r.random() < 0.1:
        messages[-1]["role"] = text(r, controls)
    chosen: dict[str, Any] = {"messages": messages, "add_generation_prompt": r.random() < 0.5}
    chosen |= maybe(r, 0.5, tools=[tool(r, controls) for _ in range(r.choice([1, 2]))])
    chosen |= maybe(r, 0.15, mood=text(r, controls)) | maybe(r, 0.15, enable_thinking=r.random() < 0.5)
    return chosen | maybe(r, 0.15, bos_token=text(r, controls))
