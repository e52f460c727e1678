"""Groups about what goes wrong: templates that do not load, bodies that do not parse, errors at every stage."""

from __future__ import annotations

from random import Random
from typing import Any

from .case import ANCHOR, PAIRS, TOOLS, WORDS, Case, case, group, maybe, mix, prose
from .delimiters import fuzz_literals
from .patterns import COMMON
from .shapes import PLACES
from .values import DELIMITERS, JSONS, TAGS, UNQUOTED, value_parser

ODD = [None, 5, True, "", "x", [], ["x"], [""], [5], {}, {"x": 1}, 1.0]
FIELD_KEYS = ["open", "close", "join", "transform_each", "content", "transform", "strip", "pattern", "name", "type"]
UNSURE = [r"(", r"[", r"(?P<a>x)", r"(?P<a>x)(?P<a>y)", r"\g<1>", r"(?<=a", r"a{2,1}", r"*", r"(?P<1>x)", r"\p{Nope}"]


@group("invalid-template")
def invalid_template(r: Random) -> Case:
    """A template that loads, with one thing changed that may make it invalid."""
    field: dict[str, Any] = {"open": "<a>", "close": "</a>"}
    spec: dict[str, Any] = {"start_anchor": ANCHOR, "fields": {r.choice(["v", "a b", ""]): field, "content": {}}}
    kind = r.randrange(8)
    if kind == 0:
        spec[r.choice(["version", "defaults", "fields", "start_anchor", "start_anchor_pattern", "end", "name"])] = (
            r.choice(ODD)
        )
    elif kind == 1:
        del spec[r.choice(["start_anchor", "fields"])]
    elif kind == 2:
        spec["fields"]["content"] = r.choice(ODD)
    elif kind == 3:
        field[r.choice(FIELD_KEYS)] = r.choice(ODD)
    elif kind == 4:
        del field["open"]
    elif kind == 5:
        side = r.choice(["open", "close"])
        field[f"{side}_pattern"] = r.choice(UNSURE)
        if r.random() < 0.7:
            del field[side]
    elif kind == 6:
        field["transform"] = r.choice(["so {content}", ["{a}{b}"], {"k": " {content}"}, *PLACES])
    else:
        return {**case({}, "so"), "template": r.choice(ODD)}
    return {**case({}, "<a>1</a>"), "template": spec}


BODIES = ["{", '{"a": 1', "nope", "5x", "1.2.3", "", "[1,]", "<a>", "k", "True"]


@group("malformed")
def malformed(r: Random) -> Case:
    """Bodies that do not parse, closers that are missing, doubled or in another order."""
    (open, close), (other_open, other_close) = r.sample(PAIRS, 2)
    content = r.choice(["json", "json", "int", "float", "kv-lines", "text"])
    fields = {
        "v": {"open": open, "close": close, "content": content, **maybe(r, 0.5, repeats=True)},
        "w": {"open": other_open, "close": other_close},
        "content": {},
    }
    return case(fields, mix(r, [open, close, other_open, other_close, *BODIES], 8), **maybe(r, 0.3, defaults={"v": []}))


@group("runtime-error")
def runtime_error(r: Random) -> Case:
    """Errors that only a region's close raises; between other regions."""
    field = {"open": "<x>", "close": "</x>"}
    wrong: dict[str, Any] = r.choice(
        [
            {"content": "int"},
            {"content": "json"},
            {"content": "xml-inline"},
            {"content": "xml-inline", "content_args": {"tag_pattern": r"<(\w+)>"}},
            {"content": "kv-lines", "content_args": {"value_parser": {"name": "int"}}},
            {"content": "json", "transform_each": True, "transform": {"n": "{name}"}},
            {"content": "json", "transform": "{content.a}"},
            {"transform": "{nope}"},
            {"repeats": True, "join": "-", "content": "int"},
            {"content": "json", "content_args": {"string_delims": [["'", "'"]], "allow_non_json": True}},
        ]
    )
    bodies = ["5", "x", "", "[[]]", '[{"name": 1}]', '{"a": 1}', "<a>", "k: x", "'\u0001'", "0x10"]
    fields = {"v": {**field, **wrong}, "content": {}, "y": {"open": "<y>", "close": "</y>"}}
    defaults = maybe(r, 0.2, defaults={"v": r.choice([5, "d", None])})
    return case(fields, "<y>1</y><x>" + r.choice(bodies) + r.choice(["</x>", "</x> so", "", "\n"]), **defaults)


@group("prefix-errors")
def prefix_errors(r: Random) -> Case:
    fields = {"n": {"open": "<n>", "close": "</n>", "content": r.choice(["int", "json", "float"])}, "content": {}}
    prompt = r.choice([ANCHOR, "no anchor ", f"{ANCHOR}so{ANCHOR}"]) + r.choice(
        ["<n>bad</n>", "<n>12</n>", "<n>ba", "</n>"]
    )
    return case(fields, r.choice(["so", "d</n>so", "", "</n>"]), prefix=prompt)


def any_content(r: Random) -> dict[str, Any]:
    """Any content parser, with arguments."""
    name = r.choice(["text", "text", "int", "float", "bool", "json", "json", "xml-inline", "kv-lines"])
    args: dict[str, Any] = {}
    if name == "json":
        args = {
            **maybe(r, 0.3, unquoted_keys=True),
            **maybe(r, 0.3, string_delims=r.choice(DELIMITERS)),
            **maybe(r, 0.3, allow_non_json=True),
        }
    elif name == "xml-inline":
        args = {"tag_pattern": r.choice(list(TAGS)), **value_parser(r), **maybe(r, 0.3, merge_duplicates=True)}
    elif name == "kv-lines":
        args = {**maybe(r, 0.3, line_sep=";"), **maybe(r, 0.3, kv_sep="=")}
    return {"content": name, **({"content_args": args} if args else {})}


def any_field(r: Random, implicit: bool) -> dict[str, Any]:
    """A field with a bit of everything."""
    field: dict[str, Any] = {}
    for side in ("open", "close"):
        if (side == "open" and implicit) or r.random() < (0 if side == "open" else 0.15):
            continue
        pattern = r.random() < 0.4
        field[side + "_pattern" * pattern] = r.choice(list(COMMON)) if pattern else fuzz_literals(r)
    if not implicit:
        field |= any_content(r)
    field |= maybe(r, 0.4, repeats=True)
    if field.get("repeats") and field.get("content", "text") == "text":
        field |= maybe(r, 0.4, join=r.choice(["", "\n", " | "]))
    return field | maybe(r, 0.1, optional=False) | maybe(r, 0.2, transform=r.choice(PLACES))


@group("mixed")
def mixed(r: Random) -> Case:
    """Whole templates of several fields, each with a bit of everything."""
    names = r.sample(["content", "reasoning_content", "tool_calls", "a", "b"], r.randint(1, 3))
    implicit = r.choice([*names, None])
    fields = {name: any_field(r, name == implicit) for name in names}
    marks: list[str] = []
    for field in fields.values():
        for side in ("open", "close"):
            literals = field.get(side, [])
            marks += [literals] if isinstance(literals, str) else literals
            marks += COMMON.get(field.get(f"{side}_pattern", ""), [])
    bodies = [*JSONS[:12], *UNQUOTED[:4], "<a>1<b>2", "k: v\nb: 2", "x=1, y='2'", *WORDS]
    text = mix(r, [*marks, *marks, *bodies], 9)
    prompt = "" if r.random() < 0.7 else f"so{ANCHOR}{mix(r, [*marks, 'so'], 3)}"
    defaults = maybe(r, 0.3, defaults={r.choice(["role", *names]): r.choice(["m", [], None, ["d"], ""])})
    return case(fields, text + prose(r, 1), prefix=prompt, tools=r.choice([None, None, TOOLS]), **defaults)
