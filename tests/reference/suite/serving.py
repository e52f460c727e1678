"""Templates as servers take them, with what one or another reader refuses: names, keys, parsers, patterns."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from .case import ANCHOR
from .drafts import ROOT
from .patterns import ADVANCED, COMMON, EDGES, LOOKAROUND, VARIANT
from .shapes import CLOSES
from .values import TAGS

Template = dict[str, Any]

PATTERNS = [*COMMON, *ADVANCED, *LOOKAROUND, *VARIANT, *EDGES, r"\S+?<x>", r"[^<]+?<x>", r"a{3}b", r"(?:ab)+", r"\d+;"]
SHAPE = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}


def plain(r: Random) -> Template:
    """A template that every reader loads."""
    calls = {
        "open_pattern": r"<call (?P<name>\w+)>",
        "close": "</call>",
        "repeats": True,
        "content": "json",
        "transform": SHAPE,
    }
    fields = {"thinking": {"open": "<think>", "close": "</think>"}, "tool_calls": calls, "content": {"close": "<end>"}}
    return {"defaults": {"role": "assistant"}, "start_anchor": ANCHOR, "fields": fields}


def rename(r: Random, template: Template) -> None:
    fields = template["fields"]
    name = r.choice(list(fields))
    fields[r.choice(["reasoning_content", "reasoning", "answer", "tool_plan"])] = fields.pop(name)


def drop(r: Random, template: Template) -> None:
    fields = template["fields"]
    if r.random() < 0.5:
        del fields[r.choice(list(fields))]
    else:
        field = fields[r.choice(list(fields))]
        field.pop(r.choice(list(field)), None)


def pattern(r: Random, template: Template) -> None:
    field = template["fields"][r.choice(list(template["fields"]))]
    side = r.choice(["open", "close"])
    field.pop(side, None)
    field[f"{side}_pattern"] = r.choice(PATTERNS)


def key(r: Random, template: Template) -> None:
    entries: list[Template] = [
        {"repeats": True},
        {"repeats": True, "join": "\n"},
        {"optional": False},
        {"content_args": {"strip": False}},
        {"transform": "{content}"},
        {"transform": {"a": "{content}"}},
        {"transform_each": True, "transform": SHAPE},
        {"close": ["</x>", "<end>"]},
    ]
    template["fields"][r.choice(list(template["fields"]))] |= r.choice(entries)


def parser(r: Random, template: Template) -> None:
    parsers: list[Template] = [
        {"content": "int"},
        {"content": "bool"},
        {"content": "json", "content_args": {"unquoted_keys": True, "string_delims": [["'", "'"]]}},
        {"content": "json", "content_args": {"allow_non_json": True}},
        {"content": "xml-inline", "content_args": {"tag_pattern": r.choice(list(TAGS)), "merge_duplicates": True}},
        {"content": "xml-inline", "content_args": {"tag_pattern": r.choice(PATTERNS)}},
        {"content": "kv-lines", "content_args": {"kv_sep": "=", "value_parser": {"name": "json"}}},
        {
            "content": "python-call-list",
            "transform_each": True,
            "transform": {"function": {"name": "{name}", "arguments": "{arguments}"}},
        },
        {"content": "no-such-parser"},
    ]
    name = (
        "tool_calls" if "tool_calls" in template["fields"] and r.random() < 0.8 else r.choice(list(template["fields"]))
    )
    template["fields"][name] |= r.choice(parsers)


def captures(r: Random, template: Template) -> None:
    field = template["fields"][r.choice(list(template["fields"]))]
    field.pop("close", None)
    field["close_pattern"] = r.choice(list(CLOSES))
    field.setdefault("transform", "{content}")


def top(r: Random, template: Template) -> None:
    template["defaults"] = r.choice([{}, {"role": "m"}, {"content": ""}, {"tool_calls": []}, {"name": 1}])
    if r.random() < 0.5:
        del template["start_anchor"]
        template["start_anchor_pattern"] = r.choice(PATTERNS)


CHANGES: list[Callable[[Random, Template], None]] = [rename, drop, pattern, pattern, key, key, parser, captures, top]


def template(r: Random) -> Template:
    """A draft of the project, or a plain template, with up to two changes."""
    drafts = sorted((ROOT / "derived").glob("*.json"))
    made: Template = plain(r) if r.random() < 0.7 else json.loads(r.choice(drafts).read_text(encoding="utf-8"))
    for _ in range(r.choice([1, 1, 2])):
        if made["fields"]:
            r.choice(CHANGES)(r, made)
    return made
