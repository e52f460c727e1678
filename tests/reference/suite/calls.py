"""Groups about `python-call-list`: lists of calls as the grammar allows them, and lists that it just does not allow."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from .case import TOOLS, Case, case, group, maybe, prose

NAMES = ["f", "get_weather", "ns.tool", "a.b-c", "_x", "A1", "x-1.2"]
KEYS = ["a", "b", "x1", "_k", "a.b", "city", "a-b"]
TEXTS = ["", "so", "été", "it's", 'say "hi"', "a\nb", "\\", "/", "\t", "日本", "👍🏽", "f(a=1)", "]", "a, b=2"]
NUMBERS = ["0", "-0", "42", "-7", "1.5", "1e5", "-1.0E-3", "9007199254740991", "-9007199254740991", "0.1", "1e308"]
CONSTANTS = ["True", "true", "False", "false", "None", "null"]
#: What the grammar refuses in the place of a value.
BAD_VALUES = [
    *["9007199254740992", "12345678901234567890", "1e400", "01", "1.", ".5", "+1", "0x10", "1_0", "nan", "inf", "TRUE"],
    *["b''", "f'x'", "r'x'", "'a' 'b'", "'a\nb'", r"'\x41'", r"'\a'", r"'\u12'", r"'\ud800'", r"'\udc00'"],
    *["'a", "'''a'''"],
    *["(1, 2)", "{1, 2}", "{a: 1}", "{'a': 1,}", "[1,]", "{'a': 1, 'a': 2}", "1 + 1", "x", "f()", "{None: 1}"],
    *["", "# so"],
]
BAD_LISTS = [
    *["", "f()", "[f()", "f()]", "[f(),]", "[f() g()]", "[,]", "[f(1)]", "[f(a=1,)]", "[f(a=1, a=2)]", "[f(a=1 b=2)]"],
    *["[f(a)]", "[f(a==1)]", "[f(=1)]", "[f]", "[f()] so", "[[f()]]", "[é()]", "[f(é=1)]", "[1f()]"],
    *["[f(1a=1)]", "[f.()]"],
    *["[.f()]", "[f-()]", "[f(*a)]", "[f(**a)]", "\u00a0[f()]", "[f(\fa=1)]", "[f(\va=1)]", "[f()](g)"],
    *["[f (a=1)]", "[f--g()]"],
]


def blank(r: Random) -> str:
    return r.choice(["", "", "", "", " ", "\n", "\t ", "\r\n"])


def string(r: Random, text: str) -> str:
    """A string in either quote, its escapes as JSON has them or as Python has them."""
    quote = r.choice("'\"")
    written = json.dumps(text, ensure_ascii=r.random() < 0.3)[1:-1].replace('\\"', '"')
    written = written.replace(quote, "\\" + quote)
    return quote + (written.replace("/", "\\/") if r.random() < 0.3 else written) + quote


def value(r: Random, depth: int = 2) -> str:
    kind = r.random()
    if kind < 0.35 or depth == 0:
        return string(r, r.choice(TEXTS))
    if kind < 0.6:
        return r.choice(NUMBERS)
    if kind < 0.75:
        return r.choice(CONSTANTS)
    count = r.randint(0, 2)
    if kind < 0.9:
        return "[" + ",".join(blank(r) + value(r, depth - 1) + blank(r) for _ in range(count)) + "]"
    keys = r.sample(TEXTS, count)
    return "{" + ",".join(f"{blank(r)}{string(r, key)}{blank(r)}:{blank(r)}{value(r, depth - 1)}" for key in keys) + "}"


def call(r: Random) -> str:
    keys = r.sample(KEYS, r.randint(0, 3))
    arguments = ",".join(f"{blank(r)}{key}{blank(r)}={blank(r)}{value(r)}{blank(r)}" for key in keys)
    return f"{r.choice(NAMES)}{blank(r)}({arguments or blank(r)})"


def call_list(r: Random) -> str:
    return blank(r) + "[" + ",".join(blank(r) + call(r) + blank(r) for _ in range(r.randint(0, 3))) + "]" + blank(r)


def nested(depth: int) -> str:
    return f"[f(a={'[' * depth}{']' * depth})]"


def body(r: Random) -> str:
    """Half of the bodies are right; the others have one flaw."""
    right, kind = call_list(r), r.random()
    if kind < 0.5:
        return right
    if kind < 0.65:
        return f"[f(a={r.choice(BAD_VALUES)})]"
    if kind < 0.8:
        return r.choice(BAD_LISTS)
    if kind < 0.85:
        return nested(r.choice([99, 100, 101]))
    at = r.randrange(len(right)) if right else 0
    return right[:at] + r.choice(["", ",", "'", "]", " ", "\\", "=", "é", right[at : at + 1] * 2]) + right[at + 1 :]


SHAPE = {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}


def field(r: Random, **delimiters: Any) -> dict[str, Any]:
    """A field of calls in its usual shape, or in another."""
    shapes: list[dict[str, Any]] = [
        {"transform_each": True, "transform": SHAPE},
        {"transform_each": True, "transform": SHAPE, "repeats": True},
        {"transform_each": True, "transform": {"a": "{arguments.a}"}},
        {"transform": {"calls": "{content}"}},
        {},
    ]
    shape = r.choice(shapes[:1] * 4 + shapes)
    return {**delimiters, "content": "python-call-list", **shape, **maybe(r, 0.1, content_args={"strip": True})}


@group("parser-call-list")
def parser_call_list(r: Random) -> Case:
    open, close = r.choice([("<calls>", "</calls>"), ("[TOOLS]", "[/TOOLS]"), ("<|c|>", "<|e|>")])
    fields = {"tool_calls": field(r, open=open, close=close), **maybe(r, 0.5, content={})}
    text = prose(r, 2) + open + body(r) + close + r.choice(["", " so"])
    return case(fields, text, tools=r.choice([None, None, TOOLS]))


@group("call-list-bare")
def call_list_bare(r: Random) -> Case:
    """Calls without markers: the list itself opens the region."""
    fields = {
        "tool_calls": field(
            r,
            open_pattern=r.choice([r"(?=\[)", r"(?=\[[A-Za-z_])", r"^\s*(?=\[\w+\()"]),
            **r.choice(
                [{"close": "<eot>"}, {"close_pattern": r"<eot>\s*"}, {"close_pattern": r"(?<=\)\])\s*(?=<eot>|$)"}]
            ),
        ),
        "content": {"close": "<eot>"},
    }
    return case(fields, r.choice(["", "", prose(r, 2) + "\n"]) + body(r) + r.choice(["", "<eot>", "<eot>\n"]))
