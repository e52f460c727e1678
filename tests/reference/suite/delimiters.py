"""Groups about fields and their delimiters: literals, lists, what is held back, the prompt, how fields repeat."""

from __future__ import annotations

from random import Random
from typing import Any

from .case import ANCHOR, PAIRS, WORDS, Case, case, group, maybe, mix, prose


def fuzz_literals(r: Random) -> str | list[str]:
    """Short literals of a small alphabet, which overlap often."""
    made = ["".join(r.choice("<>ab/|") for _ in range(r.randint(1, 5))) for _ in range(r.randint(1, 3))]
    return r.choice([made[0], made])


def as_list(literals: str | list[str]) -> list[str]:
    return [literals] if isinstance(literals, str) else literals


@group("fuzz-literal")
def fuzz_literal(r: Random) -> Case:
    names = r.sample(["a", "b", "thinking", "content"], r.randint(1, 3))
    fields: dict[str, Any] = {
        name: {"open": fuzz_literals(r), **maybe(r, 0.8, close=fuzz_literals(r)), **maybe(r, 0.4, repeats=True)}
        for name in names
    }
    if r.random() < 0.5:
        del fields[r.choice(names)]["open"]
    literals = [one for field in fields.values() for side in ("open", "close") for one in as_list(field.get(side, []))]
    return case(fields, mix(r, literals or ["a"], 10), **maybe(r, 0.3, defaults={"role": "m", "n": None}))


@group("field-open-close")
def field_open_close(r: Random) -> Case:
    (open, close), (other_open, other_close) = r.sample(PAIRS, 2)
    fields = {"one": {"open": open, "close": close, **maybe(r, 0.3, repeats=True)}}
    if r.random() < 0.5:
        fields["two"] = {"open": other_open, "close": r.choice([close, other_close])}
    if r.random() < 0.5:
        fields["content"] = {}
    return case(fields, mix(r, [open, close, other_open, other_close, open + prose(r) + close], 7))


@group("field-close-forms")
def field_close_forms(r: Random) -> Case:
    open, close = r.choice(PAIRS)
    forms: list[dict[str, Any]] = [
        {},
        {"close": close},
        {"close": [close, "<end>"]},
        {"close": [close, close]},
        {"close_pattern": r"</x>\s*|<end>|\[/T\]"},
        {"close_pattern": r"(?=<end>)"},
        {"close_pattern": r"<end>|$"},
    ]
    fields = {"v": {"open": open, **r.choice(forms), **maybe(r, 0.3, repeats=True)}, **maybe(r, 0.6, content={})}
    return case(fields, mix(r, [open, close, "<end>", "<end>\n", "</x> \n"], 7))


@group("field-implicit")
def field_implicit(r: Random) -> Case:
    open, close = r.choice(PAIRS)
    implicit: dict[str, Any] = {
        **r.choice([{}, {"close": "<end>"}, {"close": ["<end>", "<e>"]}, {"close_pattern": r"\s*<end>\s*"}]),
        **r.choice([{}, {"repeats": True}, {"repeats": True, "join": r.choice(["", "\n"])}]),
        **maybe(r, 0.2, transform={"text": "{content}"}),
    }
    if "join" in implicit:
        implicit.pop("transform", None)
    fields = {"v": {"open": open, "close": close}, r.choice(["content", "a"]): implicit}
    return case(fields, mix(r, [open, close, "<end>", "<e>", open + prose(r) + close, "\n"], 7))


@group("field-repeats-join")
def field_repeats_join(r: Random) -> Case:
    open, close = r.choice(PAIRS)
    content = r.choice(["text", "text", "text", "int", "json"])
    field = {"open": open, "close": close, "repeats": True, "content": content}
    if r.random() < 0.7:
        field["join"] = r.choice(["", "-", "\n\n", "{content}"])
    default = r.choice([None, "d", "", 5, []]) if "join" in field else r.choice([[], ["d"], "d"])
    body = {"text": prose, "int": lambda r: str(r.randint(0, 9)), "json": lambda r: r.choice(['"s"', "[1]", "{}"])}
    text = "".join(open + body[content](r) + close + r.choice(["", " ", "so"]) for _ in range(r.randint(0, 4)))
    return case({"v": field, **maybe(r, 0.4, content={})}, text, **maybe(r, 0.3, defaults={"v": default}))


@group("field-optional-defaults")
def field_optional_defaults(r: Random) -> Case:
    fields = {
        "a": {"open": "<a>", "close": "</a>", **maybe(r, 0.6, optional=r.choice([True, False]))},
        "b": {"open": "<b>", "close": "</b>", **maybe(r, 0.4, optional=False), **maybe(r, 0.5, content="int")},
    }
    values = [None, "", [], {}, 0, False, 0.0, "d", ["d"], {"k": 1}]
    names = r.sample(["role", "a", "b", "other"], r.randint(0, 3))
    text = "".join(r.choice(["<a>so</a>", "<a></a>", "<b>5</b>", "<b>0</b>", " "]) for _ in range(r.randint(0, 3)))
    return case(fields, text, defaults={name: r.choice(values) for name in names})


@group("field-literal-vs-pattern")
def field_literal_vs_pattern(r: Random) -> Case:
    literal, pattern = r.choice([("<x>", "<x>"), ("[T]", r"\[T\]"), ("--b\n", "--b\n"), ("é.", r"é\.")])
    side = r.choice(["open", "close"])
    field = {"open": "<o>", "close": "<e>"}
    if r.random() < 0.5:
        field[side] = literal
    else:
        del field[side]
        field[f"{side}_pattern"] = pattern
    return case({"v": field, "content": {}}, mix(r, ["<o>", "<e>", literal], 7))


HELD = [
    *[r"<x>\s*", r"\n*<x>", r"\s*<x>\s*", r"<x>[ ]{0,2}", r"\n?<x>\n?", r"<x>(?:\n|$)", "<x>!?"],
    *[r"(?:\n|^)<x>", "<x+>"],
]


@group("holdback")
def holdback(r: Random) -> Case:
    """How long text is held that may be the beginning of a delimiter."""
    field = r.choice(
        [
            {"open_pattern": r.choice(HELD), "close": "<end>"},
            {"open": "<o>", "close_pattern": r.choice(HELD)},
            {"open": ["<x>", "<x><y>"], "close": ["<e>", "<end>"]},
        ]
    )
    implicit = r.choice([{}, {"close": "<stop>"}, {"close_pattern": r"\s*<stop>"}, {"close_pattern": r.choice(HELD)}])
    pieces = ["<x>", "<x>\n", "\n\n<x>", "<x>  ", "<xx>", "<x><y>", "<end>", "<o>", "<stop>", " <stop>", "<", "\n"]
    return case({"v": field, "content": implicit}, mix(r, pieces, 9))


@group("overlap-literals")
def overlap_literals(r: Random) -> Case:
    lists = [
        ["ab", "abc"],
        ["<a>", "<a><b>"],
        ["aba", "b"],
        ["x", "xx", "xxx"],
        ["[T]", "T]"],
        ["ab", "ba"],
        ["a\n", "a"],
    ]
    chosen = r.sample(lists, 2)
    field = {"open": chosen[0], "close": r.choice([chosen[1], chosen[0], "</x>"])}
    implicit = r.choice([{}, {"close": r.choice(lists)}])
    pieces = [literal for literals in chosen for literal in literals]
    return case({"v": field, "content": implicit}, mix(r, [*pieces, "</x>"], 9))


@group("empty-and-edges")
def empty_and_edges(r: Random) -> Case:
    """Regions of nothing, delimiters side by side, and texts that end in the middle of something."""
    open, close = r.choice(PAIRS)
    fields = {
        "v": {"open": open, "close": close, **maybe(r, 0.5, repeats=True)},
        **maybe(r, 0.7, content={"close": "<end>"}),
    }
    text = r.choice(["", open, close, open + close, open + close * 2, " " + open, "<end>", "<end><end>", "\n"])
    text += r.choice(["", open, "<end>", open[:-1], close[:1], open + close])
    return case(fields, text, **maybe(r, 0.3, version=1), **maybe(r, 0.3, defaults={}))


def anchored(r: Random) -> tuple[dict[str, Any], list[str]]:
    """An anchor of a template, and texts that it matches."""
    return r.choice(
        [
            ({"start_anchor": ANCHOR}, [ANCHOR]),
            ({"start_anchor": ["<a>", "<a><b>"]}, ["<a>", "<a><b>"]),
            ({"start_anchor": ["aba", "ab"]}, ["aba", "ab"]),
            ({"start_anchor_pattern": r"<(?:bot|model)>\s*"}, ["<bot>", "<model>\n", "<bot>  "]),
            ({"start_anchor_pattern": r"a*"}, ["a", "aa", ""]),
            ({"start_anchor_pattern": r"$"}, ["\n"]),
            ({"start_anchor_pattern": r"(?=<x>)"}, ["<x>"]),
            ({"start_anchor_pattern": r"^"}, ["", "\n"]),
        ]
    )


@group("anchor")
def anchor(r: Random) -> Case:
    spec, samples = anchored(r)
    fields = {"v": {"open": "<x>", "close": "</x>"}, "content": {}}
    made = case(fields, mix(r, ["<x>", "</x>"], 3), prefix=mix(r, [*samples, "<x>", "</x>"], 5))
    made["template"] = {**spec, "fields": fields}
    return made


@group("prefix")
def prefix(r: Random) -> Case:
    """Prompts that open a region, close one, or end inside a delimiter."""
    fields: dict[str, Any] = {
        "thinking": {"open": "<think>", **r.choice([{"close": "</think>"}, {"close_pattern": r"</think>\s*"}])},
        "tool_calls": {"open": "<call>", "close": "</call>", "content": "json", "repeats": True},
        "content": r.choice([{}, {"close": "<end>"}, {"close_pattern": r"\s*<end>|$"}]),
    }
    begun = r.choice(
        ["", "<think>", "<think>so", "<think></think>", "<thi", "<think>so</thi", '<call>{"a"', "Sure:\n", "<end>", " "]
    )
    before = r.choice(["", "<user>hi", f"{ANCHOR}old<think>", ANCHOR])
    pieces = ["<think>", "nk>", "</think>", "\n", "<call>", "{}", ": 1}", "</call>", "<end>"]
    return case(fields, mix(r, pieces, 6), prefix=r.choice([before + ANCHOR + begun, begun, before + ANCHOR]))


@group("long", share=0.2)
def long(r: Random) -> Case:
    """Texts of some thousand characters."""
    open, close = r.choice(PAIRS)
    body = " ".join(r.choice(WORDS) for _ in range(r.randint(300, 900)))
    field = r.choice([{"open": open, "close": close}, {"open": open, "close_pattern": r"</?x>\s*|\[/T\]|<end>"}])
    return case({"v": field, "content": {"close": "<end>"}}, body[:1500] + open + body + close + body[:500] + "<end>")


@group("unicode")
def unicode(r: Random) -> Case:
    """Delimiters and text outside ASCII: combining marks, pairs of code points, case, direction."""
    open, close = r.choice(
        [("é", "e\u0301"), ("\U0001f44d", "\U0001f3fd"), ("ß", "ẞ"), ("\u200b", "\u200d"), ("İ", "ı")]
    )
    flag = r.choice(["", "(?i)"])
    field = r.choice([{"open": open, "close": close}, {"open_pattern": flag + open, "close_pattern": flag + close}])
    pieces = [open, close, "ss", "i", "I", "\u0301", "\ufeff", "\u202e", "k", "\u212a", "\u2028", "👨‍👩‍👧"]
    return case({"v": {**field, "repeats": True}, "content": {}}, mix(r, pieces, 8))
