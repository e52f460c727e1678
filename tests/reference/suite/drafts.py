"""Groups of the project's own formats: the templates of its fixtures, on the outputs recorded there."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from .case import Case, group

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "fixtures" / "formats"


class Recorded(NamedTuple):
    """A draft with what was recorded for its format."""

    template: dict[str, Any]
    prompt: str
    tools: Any
    outputs: list[str]
    chat_template: Path | None
    #: What ends a turn.
    stop: str


def recorded(fixture: Path) -> Recorded:
    shared, *parts = re.split(r"(?m)^=== case .*\n", fixture.read_text(encoding="utf-8"))

    def section(name: str, text: str) -> str | None:
        found = re.search(rf"(?ms)^=== {name}\n(.*?)\n(?==== |\Z)", text)
        return found[1] if found else None

    tools = section("tools", shared)
    outputs = [output for part in parts if (output := section("output", part)) and not section("prefix", part)]
    header = dict(re.findall(r"(?m)^([\w-]+): (.*)", shared.partition("\n===")[0]))
    template = json.loads((fixture.parent / header["template"]).read_text(encoding="utf-8"))
    chat_template = fixture.parent / header["chat-template"] if "chat-template" in header else None
    return Recorded(
        template,
        section("prefix", shared) or "",
        json.loads(tools) if tools else None,
        outputs,
        chat_template,
        header.get("stop", ""),
    )


@cache
def formats() -> list[Recorded]:
    """Every format with recorded outputs."""
    found = [recorded(path) for path in sorted(FIXTURES.glob("*.fixture"))]
    return [one for one in found if one.outputs]


def drafted(format: Recorded, text: str, tools: bool) -> Case:
    return {
        "template": format.template,
        "prefix": format.prompt,
        "tools": format.tools if tools else None,
        "text": text,
    }


@group("real-templates")
def real_templates(r: Random) -> Case:
    format = r.choice(formats())
    return drafted(format, r.choice(format.outputs), r.random() < 0.6)


@group("real-malformed")
def real_malformed(r: Random) -> Case:
    """An output that was cut off, or lost a piece, or has a piece twice or from another output."""
    format = r.choice(formats())
    text = r.choice(format.outputs)
    start = r.randrange(len(text) + 1)
    end = min(len(text), start + r.randint(1, 12))
    piece = r.choice(["", "", text[start:end] * 2, r.choice(format.outputs)[:20], "<", "{", '"', "\n"])
    return drafted(format, r.choice([text[:start], text[:start] + piece + text[end:]]), r.random() < 0.5)
