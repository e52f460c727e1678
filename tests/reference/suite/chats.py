"""Conversations for chat templates: turns of every role, with what templates are known to stumble over."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from .case import maybe

Message = dict[str, Any]

TEXTS = [
    *["Hi.", "", " padded \n", "été 東京 👍🏽", "<b>&amp;'\"</b>", "{{ x }} {% y %}", "a\n\nb"],
    *["<think>so</think>", "</s>"],
]
VALUES: list[Any] = [
    "Oslo",
    "",
    7,
    -0.5,
    1e22,
    True,
    None,
    [],
    ["a", 1],
    {},
    {"k": {"l": [None]}},
    'say "hi" \\ é\n',
    "00420",
]
#: Variables that chat templates read as switches.
SWITCHES = [
    {},
    {},
    {},
    {"enable_thinking": True},
    {"enable_thinking": False},
    {"thinking": True},
    {"reasoning_effort": "low"},
]
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


def tool(r: Random, name: str) -> dict[str, Any]:
    kinds = [
        {"type": "string", "description": "So <it> is."},
        {"type": "integer", "enum": [1, 2]},
        {"type": "array", "items": {"type": "string"}},
        {"type": ["number", "null"]},
        {"type": "object", "properties": {"k": {"type": "boolean"}}},
        {"anyOf": [{"type": "string"}, {"type": "integer"}], "default": None},
    ]
    properties = {key: r.choice(kinds) for key in r.sample(["city", "days", "é"], r.randint(0, 3))}
    parameters = {"type": "object", "properties": properties, **maybe(r, 0.5, required=list(properties)[:1])}
    return {"type": "function", "function": {"name": name, "description": r.choice(TEXTS), "parameters": parameters}}


def call(r: Random, number: int) -> dict[str, Any]:
    arguments: Any = {key: r.choice(VALUES) for key in r.sample(["city", "days", "é", "note"], r.randint(0, 3))}
    if r.random() < 0.2:
        arguments = json.dumps(arguments)
    function = {"name": r.choice(["get_weather", "tick"]), "arguments": arguments}
    return {"type": "function", "id": f"aB3dE5gH{number}", "function": function}


def content(r: Random) -> Any:
    if r.random() < 0.85:
        return r.choice(TEXTS)
    return [{"type": "text", "text": r.choice(TEXTS)} for _ in range(r.randint(0, 2))]


def answer(r: Random, calls: list[dict[str, Any]]) -> Message:
    """A turn of the assistant: any of content, reasoning and calls."""
    reasoning = r.choice(["reasoning_content", "thinking", "reasoning"])
    return {
        "role": "assistant",
        **({"content": content(r)} if not calls or r.random() < 0.7 else {}),
        **maybe(r, 0.4, **{reasoning: r.choice(TEXTS)}),
        **({"tool_calls": calls} if calls else {}),
    }


def exchange(r: Random, tools: bool) -> list[Message]:
    """A question, and an answer to it, perhaps after calls."""
    turns: list[Message] = [{"role": "user", "content": content(r)}]
    if tools and r.random() < 0.6:
        calls = [call(r, number) for number in range(r.choice([1, 1, 2]))]
        turns.append(answer(r, calls))
        for each in calls if r.random() < 0.8 else ():
            name = each["function"]["name"]
            turns.append({"role": "tool", "name": name, "tool_call_id": each["id"], "content": content(r)})
        if r.random() < 0.3:
            return turns
    return [*turns, answer(r, [])]


def conversation(r: Random) -> dict[str, Any]:
    """The context of one render: messages, tools, switches."""
    tools = [tool(r, name) for name in ("get_weather", "tick")] if r.random() < 0.5 else None
    first = maybe(r, 0.4, role=r.choice(["system", "system", "developer"]), content=content(r))
    messages = [first] * bool(first) + [
        turn for _ in range(r.choice([1, 1, 2, 3])) for turn in exchange(r, tools is not None)
    ]
    if r.random() < 0.2:
        messages.pop()
    context = {
        "messages": messages or [{"role": "user", "content": "Hi."}],
        "tools": tools,
        "documents": None,
        "add_generation_prompt": r.random() < 0.4,
    }
    if tools is not None and r.random() < 0.1:
        context["documents"] = [{"title": "So", "text": r.choice(TEXTS)}]
    return {**SPECIAL, **context, **r.choice(SWITCHES)}
