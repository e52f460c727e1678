"""Groups about content parsers and their arguments: the body of one region becomes a value."""

from __future__ import annotations

from random import Random
from typing import Any

from .case import PAIRS, Case, case, group, maybe, prose, spaces

BLANKS = [
    *["\u001c", "\u001f", "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u200b", "\ufeff", "\u180e", "\v"],
    *["\x00"],
]
INTEGERS = [
    *["5", " -7 ", "+3", "007", "1_0", "1__0", "_1", "٣", "1٣", "²", "", "5.0", "0x10", "-0", "9" * 40],
    *["9" * 4301, "１_0"],
]
FLOATS = [
    *["1.50", "1e3", ".5", "5.", "inf", "-Infinity", "nan", "1e400", "1e-400", "1_0.5", "٣.٣", "1,5", ""],
    *["0x1p3", "+1E+2"],
]
BOOLEANS = ["true", "TRUE", "1", "false", "0", "yes", "", " True\n", "1.0", "ｔrue"]
JSONS = [
    *['{"a": 1}', "[1, 2]", '"s"', "null", "true", "1.50", "-0", "1e3", "{}", "[]"],
    *[' {"a":{"b":[true,null]}} ', "9007199254740993"],
    *['{"a": NaN}', '{"a": 1e400}', '{"a":1,"a":2,"b":3}', '"\\u00e9\\n"', '"\\ud83d\\ude00"', '"a\u2028b"'],
    *["", "{", "[1,]", "{'a': 1}", "01", "1.", ".5", "{a: 1}", '{"a" 1}', '{"a": 1} x', '"a\nb"', "\ufeff{}"],
    *["[1 2]", "tru"],
]
UNQUOTED = [
    *["{a:1}", "{a: 1}", "{ a:1}", "{a :1}", "{\n  a : 1,\n  b : 2\n}", "{a:1,b:2}", "{a:1, b:2}"],
    *['{"a":1,b:2}', "{a:{b:1}}"],
    *['{"a":"x,b:c"}', '{a:"{b:1}"}', '{"a": "x, b: c", d: 1}', '{a:"\\",b:"}', '{"k":"{a:1,b:2}"}'],
    *['["a,b:c"]', '"{a:1}"'],
    *["{a-b:1}", "{$c:2}", "{é:1}", "{1:2}", "{a:1,,b:2}", "[{a:1},{b:2}]", "{a:b}", "{a:true}", "{a\u00a0:1}"],
    *["{,a:1}"],
]
DELIMITERS = [
    [["'", "'"]],
    [['<|"|>', '<|"|>']],
    [["`", "`"], ["'", "'"]],
    [["<q>", "</q>"]],
    [["'''", "'''"], ["'", "'"]],
    [["«", "»"], ["'", "'"]],
]
DELIMITED = [
    *["{'a': 'b'}", "{a:'x'}", "['x',`y`]", "{'a':'it''s'}", '["it\'s","it\'s"]', "'''a'''", "'a `b`'", "{a:`{k:v}`}"],
    *['{"a":<|"|>v<|"|>}', '{a:<|"|>x "y"\n<|"|>}', "<q>a</q>", "[<q></q>,<q>\\n</q>]", "'a", "{'a':«x»}"],
    *["{a:' ',b:'é\\u0041'}"],
    *["'\x01'", "{}", "'a' so", "{'a': 1, b : 'c,d:e'}"],
]
TAGS = {
    r"<(?P<key>\w+)>(?P<value>[^<]*)": ["<a>1", "<b>2</b>", "<a>x", "<a>"],
    r"<p=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</p>": [
        "<p=k> v </p>",
        "<p=k>w</p>",
        "<p=a>5</p>",
        "<p=k>[1, 2]</p>",
        "<p=k",
    ],
    r"(?P<key>\w+)=(?P<value>'[^']*'|[^,)]*)": ["x=1", "y='2'", "x=[1", "a=", ", "],
    r"<(?P<key>\w+)(?:=(?P<value>\w+))?>": ["<a>", "<a=1>", "<b=x>"],
    r"@(?P<key>\w+)": ["@a", "@b"],
    r"<(?P<key>\w+)>(?P<value>.*?)</(?P=key)>": ["<a>1</a>", "<b><a>2</a></b>"],
    r"(?i)<A (?P<key>\w+)>(?P<value>.*?)</A>": ["<a k>1</A>", "<A k>2</a>"],
    r"<(\w+)>": ["<a>"],
}
SCALARS = ["text", "int", "float", "bool", "json"]


def parsed(r: Random, content: str, args: Any, body: str) -> Case:
    """A region of that body between two of the usual delimiters."""
    open, close = r.choice(PAIRS[:3] + PAIRS[6:7])
    field = {"open": open, "close": close, "content": content}
    if args or r.random() < 0.2:
        field["content_args"] = args
    return case({"v": field, **maybe(r, 0.3, content={})}, open + body + close)


def stripped(r: Random) -> dict[str, Any]:
    return maybe(r, 0.3, strip=r.choice([True, False, 0, 1, None, "no"]))


def padded(r: Random, body: str) -> str:
    return spaces(r) + body + r.choice(["", "", r.choice(BLANKS), "\n"])


@group("parser-text")
def parser_text(r: Random) -> Case:
    return parsed(
        r, "text", stripped(r), "".join(r.choice([*BLANKS, " ", "\n", "a", "é"]) for _ in range(r.randint(0, 6)))
    )


@group("parser-int")
def parser_int(r: Random) -> Case:
    return parsed(r, "int", stripped(r), padded(r, r.choice(INTEGERS)))


@group("parser-float")
def parser_float(r: Random) -> Case:
    return parsed(r, "float", stripped(r), padded(r, r.choice(FLOATS + INTEGERS[:-2])))


@group("parser-bool")
def parser_bool(r: Random) -> Case:
    return parsed(r, "bool", stripped(r), padded(r, r.choice(BOOLEANS)))


@group("parser-json")
def parser_json(r: Random) -> Case:
    return parsed(r, "json", {}, padded(r, r.choice(JSONS)))


@group("parser-json-deep", share=0.2)
def parser_json_deep(r: Random) -> Case:
    depth = r.choice([50, 300, 700, 900])
    open, close = r.choice([("[", "]"), ('{"a":', "}")])
    return parsed(r, "json", {}, open * depth + "null" + close * depth)


@group("parser-json-nonjson")
def parser_json_nonjson(r: Random) -> Case:
    args = {"allow_non_json": r.choice([True, True, 1, False, None]), **stripped(r)}
    return parsed(r, "json", args, padded(r, r.choice(JSONS + [prose(r), " so \n", "\x01"])))


@group("parser-json-unquoted")
def parser_json_unquoted(r: Random) -> Case:
    args = {"unquoted_keys": r.choice([True, True, True, 1, False]), **maybe(r, 0.2, allow_non_json=True)}
    return parsed(r, "json", args, padded(r, r.choice(UNQUOTED)))


@group("parser-json-delims")
def parser_json_delims(r: Random) -> Case:
    args = {
        "string_delims": r.choice(DELIMITERS),
        **maybe(r, 0.5, unquoted_keys=True),
        **maybe(r, 0.3, allow_non_json=True),
    }
    return parsed(r, "json", args, padded(r, r.choice(DELIMITED)))


def value_parser(r: Random) -> dict[str, Any]:
    name = r.choice(SCALARS)
    args = r.choice([{}, {"allow_non_json": True}, {"unquoted_keys": True}]) if name == "json" else stripped(r)
    return {
        "value_parser": r.choice([None, {"name": name}, {"name": name, "args": args}, {"name": name, "args": args}])
    }


def tagged(r: Random, **args: Any) -> Case:
    pattern = r.choice(list(TAGS))
    body = r.choice(["", ", ", "\n"]).join(r.choice([*TAGS[pattern], "so"]) for _ in range(r.randint(0, 5)))
    return parsed(r, "xml-inline", {"tag_pattern": pattern, **args}, body)


@group("parser-xml-inline")
def parser_xml_inline(r: Random) -> Case:
    return tagged(
        r, **(value_parser(r) if r.random() < 0.6 else {}), **maybe(r, 0.3, merge_duplicates=r.choice([True, 1]))
    )


@group("merge-duplicates")
def merge_duplicates(r: Random) -> Case:
    """A key that occurs more than once, also with lists as its values."""
    args: dict[str, Any] = {"tag_pattern": r"<(?P<key>\w+)>(?P<value>[^<]*)", "merge_duplicates": True}
    if r.random() < 0.8:
        args["value_parser"] = {"name": "json", "args": {"allow_non_json": True}}
    values = ["1", "[1]", "[]", '["a", "b"]', "so", "null", "{}", "[[1]]"]
    body = "".join(f"<{r.choice('aab')}>{r.choice(values)}" for _ in range(r.randint(1, 5)))
    return parsed(r, "xml-inline", args, body)


@group("parser-kv-lines")
def parser_kv_lines(r: Random) -> Case:
    args = {
        **maybe(r, 0.4, line_sep=r.choice([";", "\n\n", "ab", " "])),
        **maybe(r, 0.4, kv_sep=r.choice(["=", " ", "::", "->"])),
        **(value_parser(r) if r.random() < 0.4 else {}),
        **stripped(r),
    }
    line, separator = args.get("line_sep", "\n"), args.get("kv_sep", ":")
    lines = [
        f"k{separator} v",
        f"b{separator}2",
        f" k {separator}{separator}w",
        "so",
        "",
        f"{separator}x",
        f"é{separator}[1]",
    ]
    return parsed(r, "kv-lines", args, line.join(r.choice(lines) for _ in range(r.randint(0, 5))))


@group("python-specials")
def python_specials(r: Random) -> Case:
    """Where Python's idea of white space, digits and case is its own."""
    content = r.choice(["text", "int", "float", "bool", "json", "kv-lines"])
    bodies = {"int": "1٣", "float": "٣.5", "bool": "TRUE", "json": "[1]", "kv-lines": "k: v\u2028b: 2"}
    body = r.choice([bodies.get(content, "a"), "5", "K:1", "ﬀ", "İ"])
    body = r.choice(BLANKS) * r.randint(0, 2) + body + r.choice(BLANKS) * r.randint(0, 2)
    return parsed(r, content, stripped(r), body)
