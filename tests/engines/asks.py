"""The requests of the matrix: each kind asks for something that an answer can be held to."""

from __future__ import annotations

from typing import Any

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"enum": ["Oslo", "Rome", "São Paulo"]},
                    "days": {"type": "integer", "minimum": 1, "maximum": 9},
                },
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "set_alarm",
            "description": "Set an alarm",
            "parameters": {
                "type": "object",
                "properties": {
                    "on": {"type": "boolean"},
                    "note": {"type": "string", "maxLength": 10},
                    "place": {
                        "type": "object",
                        "properties": {"lat": {"type": "integer", "minimum": 0, "maximum": 90}},
                        "required": ["lat"],
                        "additionalProperties": False,
                    },
                },
                "required": ["on", "place"],
                "additionalProperties": False,
            },
        },
    },
]
PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
#: The tool of the kind `named`.
NAMED = "get_weather"
ANSWER = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Oslo", "Rome"]},
        "days": {"type": "integer", "minimum": 0, "maximum": 9},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    },
    "required": ["city", "days", "tags"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": ANSWER, "strict": True}}


def _strict() -> list[dict[str, Any]]:
    return [{**tool, "function": {**tool["function"], "strict": True}} for tool in TOOLS]


#: What each kind adds to a request.
KINDS: dict[str, dict[str, Any]] = {
    "required": {"tools": TOOLS, "tool_choice": "required"},
    "named": {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": NAMED}}},
    "strict": {"tools": _strict()},
    "auto": {"tools": TOOLS},
    "one call": {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False},
    "json_schema": {"response_format": FORMAT},
    "format or call": {"tools": _strict(), "response_format": FORMAT},
}
#: The kinds that an engine without grammars can answer; others are refused.
FREE = {"auto"}


def request(kind: str, seed: int, *, stream: bool, leanings: dict[str, float], limit: int) -> dict[str, Any]:
    """The body of a request to `/v1/chat/completions`."""
    return {
        "model": "tiny",
        "messages": [{"role": "user", "content": "How warm is it in Oslo?"}],
        "seed": seed,
        "temperature": 1.0,
        "max_tokens": limit,
        "logit_bias": leanings,
        "stream": stream,
        **KINDS[kind],
    }
