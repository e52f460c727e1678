"""What every group of the suite is made of: cases, their chunkings, and a few words to write texts with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

#: A template, its inputs, and the number of characters of each feed.
Case: TypeAlias = dict[str, Any]
#: Makes one case without `chunks`.
Generator: TypeAlias = Callable[[Random], Case]

ANCHOR = "<bot>"
#: The generators by the names of their groups.
GROUPS: dict[str, Generator] = {}
#: Groups whose cases take long have fewer of them.
SHARES: dict[str, float] = {}

#: An opening and a closing delimiter.
PAIRS = [
    ("<x>", "</x>"),
    ("[T]", "[/T]"),
    ("<|a|>", "<|b|>"),
    ("<think>", "</think>"),
    ("```\n", "```"),
    ("f(", ")"),
    ("◁", "▷"),
    ("é!", "!é"),
]
WORDS = ["so", "the", "sun", "été", "東京", "a<b", "{x}", "2", "I'm", "</", "\n", "👍🏽", "ab", "::"]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer"},
                    "b": {"type": "string", "nullable": True},
                    "x": {"type": ["number", "null"]},
                    "k": {"anyOf": [{"type": "boolean"}, {"type": "array"}]},
                },
            },
        },
    }
]


def group(name: str, *, share: float = 1) -> Callable[[Generator], Generator]:
    """Register a generator."""

    def register(generator: Generator) -> Generator:
        assert name not in GROUPS, name
        GROUPS[name], SHARES[name] = generator, share
        return generator

    return register


def case(fields: dict[str, Any], text: str, *, prefix: str = "", tools: Any = None, **template: Any) -> Case:
    """A case whose template has these fields and the usual anchor."""
    spec = {"start_anchor": ANCHOR, **template, "fields": fields}
    return {"template": spec, "prefix": prefix, "tools": tools, "text": text}


def prose(r: Random, most: int = 4) -> str:
    """Up to `most` words."""
    return r.choice([" ", " ", "", "\n"]).join(r.choice(WORDS) for _ in range(r.randint(0, most)))


def spaces(r: Random) -> str:
    return r.choice(["", "", "", " ", "\n", "\t ", "\r\n", "  \n"])


def mix(r: Random, pieces: list[str], most: int = 6) -> str:
    """A text of these pieces, of beginnings of them, and of words."""
    out = []
    for _ in range(r.randint(0, most)):
        piece = r.choice(pieces)
        out.append(r.choice([piece, piece, piece[: r.randint(0, len(piece))], r.choice(WORDS)]))
    return "".join(out)


def maybe(r: Random, chance: float, **entries: Any) -> dict[str, Any]:
    """These entries, or none."""
    return entries if r.random() < chance else {}


def chunkings(r: Random, text: str) -> Iterator[list[int]]:
    """The text whole, character by character, and in pieces of random lengths, some of them empty."""
    yield [len(text)] if text else []
    if len(text) < 2:
        return
    yield [1] * len(text)
    lengths, left, longest = [], len(text), r.choice([2, 3, 5, 8])
    while left:
        lengths.append(min(left, r.randint(0, longest)))
        left -= lengths[-1]
    yield lengths


def refit(case: Case) -> Case:
    """A case that lost parts as a case again: with what every case has, and chunks that fit its text."""
    case = {"template": None, "prefix": "", "tools": None, "text": "", "chunks": [], **case}
    lengths, left = [], len(case["text"])
    for length in case["chunks"] if isinstance(case["chunks"], list) else ():
        if length <= left:
            lengths.append(length)
            left -= length
    tools = [case["tools"]] if isinstance(case["tools"], dict) else case["tools"]
    if (
        not case["prefix"]
        and isinstance(case["template"], dict)
        and isinstance(case["template"].get("start_anchor"), str)
    ):
        # Nothing reads it.
        case["template"] = {**case["template"], "start_anchor": ANCHOR}
    return {**case, "tools": tools, "chunks": lengths + [left] * (left > 0)}
