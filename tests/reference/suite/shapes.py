"""Groups about what becomes of a value: transforms, captures, types of tools."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from .case import Case, case, group, maybe, prose

PLACES = [
    "{content}",
    "{name}",
    {"function": {"name": "{name}", "arguments": "{content}"}},
    ["{content}", {"k": "{content.a}"}],
    {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}},
    "x",
    {},
    [],
    False,
    "{content.a.b}",
    "{nope}",
    {"{content}": 1, "n": None},
    "{ content }",
    "{}",
    "{a-b}",
]
OBJECTS = ['{"a": {"b": 1}}', '{"a": 1}', '{"name": "f", "arguments": {"x": "5"}}', "{}", "[1]", "null", '"s"']


@group("transform")
def transform(r: Random) -> Case:
    field = {
        "open_pattern": r.choice([r"<x(?: n=(?P<name>\w+))?>", r"<x(?P<content>!)?>", r"<(?P<name>\w)(?P<mode>\d?)>"]),
        "close": "</x>",
        "content": r.choice(["json", "json", "text"]),
        "transform": r.choice(PLACES),
        **maybe(r, 0.5, repeats=True),
    }
    text = "".join(
        r.choice(["<x>", "<x n=f>", "<x!>", "<x1>"]) + r.choice(OBJECTS) + "</x>" for _ in range(r.randint(1, 3))
    )
    return case({"v": field, **maybe(r, 0.3, content={})}, text)


@group("transform-each")
def transform_each(r: Random) -> Case:
    field = {
        "open_pattern": r.choice([r"<x>", r"<x n=(?P<name>\w+)>"]),
        "close": "</x>",
        "content": r.choice(["json", "json", "json", "text"]),
        "transform_each": r.choice([True, True, False]),
        "transform": r.choice([{"n": "{name}", "a": "{arguments}"}, "{a.b}", {"c": "{content}"}, "x", ["{a}"]]),
        **maybe(r, 0.4, repeats=True),
    }
    items = ['{"name": "f", "arguments": {}}', '{"a": {"b": 1}}', '{"content": 7, "a": 1}', "1", "{}", "[]"]
    body = r.choice(["{}", "[" + ", ".join(r.choice(items[:3] + items) for _ in range(r.randint(0, 3))) + "]"])
    return case({"v": field}, r.choice(["<x>", "<x n=cap>"]) + body + "</x>")


#: Patterns of a close with named groups, and texts that they match.
CLOSES = {
    r"</x(?::(?P<name>\w+))?>": ["</x>", "</x:g>"],
    r"</x:(?P<mode>\w+)>": ["</x:g>", "</x:q>"],
    r"</x>(?P<tail>[a-z]*)": ["</x>", "</x>tail", "</x>Q"],
    r"</x>(?P<content>!)?": ["</x>", "</x>!"],
    r"</x>(?P<name>;)?": ["</x>", "</x>;"],
}


@group("close-captures")
def close_captures(r: Random) -> Case:
    """Named groups of the close: in addition to those of the open, in their place, unset, and of the implicit field."""
    open_pattern = r.choice([r"<x>", r"<x(?: m=(?P<mode>\w+))?>", r"<x(?: n=(?P<name>\w+))?>"])
    close_pattern = r.choice(list(CLOSES))
    names = re.findall(r"\(\?P<(\w+)>", open_pattern + close_pattern)
    shape = {name: f"{{{name}}}" for name in r.sample(names, r.randint(0, len(names)))} | {"c": "{content}"}
    field = {
        "open_pattern": open_pattern,
        "close_pattern": close_pattern,
        "content": r.choice(["text", "json"]),
        "transform": r.choice([shape, f"{{{r.choice(names)}}}"]),
        **maybe(r, 0.6, repeats=True),
    }
    implicit: dict[str, Any] = {
        "close_pattern": r"(?P<end><e>)\s*",
        "transform": r.choice(["{end}", {"c": "{content}"}]),
    }
    fields = {"v": field, **maybe(r, 0.5, content=r.choice([{}, implicit]))}
    opens, closes = ["<x>", "<x m=q>", "<x n=f>"], [*CLOSES[close_pattern], r.choice(["", "</x>"])]
    regions = [r.choice(opens) + r.choice(["{}", "[1]", '"s"']) + r.choice(closes) for _ in range(r.randint(1, 3))]
    return case(fields, prose(r, 1).join(regions) + r.choice(["", "<e>", "so<e>\n"]))


TYPES = ["integer", "number", "boolean", "null", "object", "array", "string", "nope", 5]
ARGUMENTS = [
    *["5", "5.0", "-0", "-0.0", "9007199254740993", "1e22", "+5", "5.", ".5", "None", "null", "False"],
    *[" TRUE ", "nan", "1e400"],
    *["1", "0", "\u00a05", "[1", "[1, 2]", '{"a": 1}', '{"a": 1} x', "0x10", "", " ", "so", "٣", "1_0", "true"],
]


def schema(r: Random, depth: int = 0) -> Any:
    """The schema of an argument, also of kinds that nobody should write."""
    kind = r.random()
    if kind < 0.5:
        return {"type": r.choice(TYPES)}
    if kind < 0.7:
        return {"type": [r.choice(TYPES) for _ in range(r.randint(0, 3))]}
    if kind < 0.9 and depth < 2:
        return {r.choice(["anyOf", "oneOf", "allOf"]): [schema(r, depth + 1) for _ in range(r.randint(0, 3))]}
    return r.choice([{}, True, None, {"nullable": r.choice([True, False, 1])}, {"type": "integer", "nullable": True}])


def argument(r: Random) -> Any:
    return r.choice([r.choice(ARGUMENTS), r.choice(ARGUMENTS), [r.choice(ARGUMENTS), 1], 5, None])


@group("tools-coerce")
def tools_coerce(r: Random) -> Case:
    names = r.sample("abcd", r.randint(1, 4))
    call = {"function": {"name": r.choice(["f", "f", "g"]), "arguments": {name: argument(r) for name in names}}}
    value = r.choice([call, call, [call, 5, call]])
    functions = [
        {"name": "f", "parameters": {"properties": {name: schema(r) for name in "abc"}}}
        for _ in range(r.choice([1, 1, 2]))
    ]
    tools = [r.choice([function, {"type": "function", "function": function}]) for function in functions]
    field = {"open": "<x>", "close": "</x>", "content": "json", **maybe(r, 0.3, repeats=True)}
    return case({"v": field}, f"<x>{json.dumps(value)}</x>", tools=tools)
