"""Groups about patterns as delimiters: random ones, usual ones, and those that read a text as it is cut."""

from __future__ import annotations

from random import Random
from typing import Any

from .case import Case, case, group, maybe, mix

ATOMS = ["a", "b", "a", "b", "ab", "ba", r"\n", ".", "[ab]", "[^a]", r"\s", r"\w", "aa", "bb", "aba"]
PLACES = ["$", "^", r"\Z", r"\b", r"\B", "(?m:^)", "(?m:$)"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{0,2}?"]


def random_item(r: Random, depth: int) -> str:
    kind = r.random()
    if kind < 0.55 or depth == 0:
        found = r.choice(ATOMS)
    elif kind < 0.65:
        return r.choice(PLACES)
    elif kind < 0.75:
        return "(" + r.choice(["?=", "?!", "?<=", "?<!"]) + random_pattern(r, depth - 1) + ")"
    elif kind < 0.8:
        return r"(a|b)\1" if depth == 2 else "(?>" + random_pattern(r, depth - 1) + ")"
    else:
        found = "(?:" + random_pattern(r, depth - 1) + ")"
    if r.random() < 0.3:
        found = (found if len(found) == 1 or found[0] in "[(\\" else f"(?:{found})") + r.choice(REPEATS)
    return found


def random_pattern(r: Random, depth: int) -> str:
    branches = r.choice([1, 1, 1, 2])
    return "|".join("".join(random_item(r, depth) for _ in range(r.choice([1, 1, 2, 3]))) for _ in range(branches))


@group("fuzz-regex")
def fuzz_regex(r: Random) -> Case:
    """Small random patterns on short texts of a few characters."""
    pattern = random_pattern(r, r.choice([0, 1, 1, 2]))
    fields: dict[str, Any] = r.choice(
        [
            {"x": {"open_pattern": pattern, "close": "."}, "content": {}},
            {"x": {"open": ".", "close_pattern": pattern}, "content": {}},
            {"x": {"open": ".", "close": "."}, "content": {"close_pattern": pattern}},
            {"content": {"close_pattern": pattern, "repeats": True}},
            {
                "x": {"open": ["a", "ab", "bab"], "close_pattern": pattern, "repeats": True},
                "content": {"repeats": True},
            },
        ]
    )
    alphabet = r.choice(["ab.", "ab\n.", "ab .", "ab"])
    text = "".join(r.choice(alphabet) for _ in range(r.randrange(0, 9)))
    prompt = "<bot>" + "".join(r.choice(alphabet) for _ in range(r.randrange(0, 5)))
    return case(fields, text, prefix=r.choice(["", "", "", prompt]))


def placed(r: Random, table: dict[str, list[str]], others: list[str]) -> Case:
    """A pattern of the table as an open, a close or an implicit close, on a text of what it matches."""
    pattern = r.choice(list(table))
    fields: dict[str, Any] = r.choice(
        [
            {"x": {"open_pattern": pattern, "close": "</e>"}, "content": {}},
            {"x": {"open": "<o>", "close_pattern": pattern}, "content": {}},
            {
                "x": {"open": "<o>", "close": "</e>"},
                "content": {"close_pattern": pattern, **maybe(r, 0.5, repeats=True)},
            },
            {"x": {"open_pattern": pattern, "close_pattern": pattern, "repeats": True}, "content": {"repeats": True}},
        ]
    )
    for field in fields.values():
        if "(?P<" in field.get("open_pattern", "") + field.get("close_pattern", ""):
            field["transform"] = "{content}"
    return case(fields, mix(r, [*table[pattern], *table[pattern], "<o>", "</e>", *others], 8))


#: Patterns as templates have them, with texts that they match.
COMMON = {
    r"<x>\s*": ["<x>", "<x>\n", "<x>  "],
    r"\s*<x>": ["<x>", "\n<x>"],
    r"<x(?: n=\w+)?>": ["<x>", "<x n=f>"],
    r"<x[^>]*>": ["<x>", "<x a='>", "<xx>"],
    r"(?:<x>|<y>)\s*": ["<x>", "<y> "],
    r"\n?</x>": ["</x>", "\n</x>"],
    r"\[\w+\]\(": ["[f](", "[f]"],
    r"f\d{1,3}:": ["f1:", "f1234:"],
    r"<x>.*?<y>": ["<x><y>", "<x>so<y>", "<x>"],
    r"^\s*<r>": ["<r>", " <r>"],
    r"x+y": ["xy", "xxxy", "xx"],
}
#: Less usual constructs.
ADVANCED = {
    r"(?i)<tool>": ["<TOOL>", "<tool>", "<Tool"],
    r"(?P<q>[\"'])x(?P=q)": ["'x'", '"x"', "'x\""],
    r"(a)?(?(1)b|c)": ["ab", "c", "b"],
    r"(?>a+)b": ["aab", "ab"],
    r"a++b": ["aab", "aa"],
    r"(?:ab){2,}": ["abab", "ab"],
    r"(?x) < x > # so": ["<x>", "< x >"],
    r"[[:alpha:]]+;": ["so;", "été;"],
    r"\p{Lu}\p{Ll}+!": ["So!", "so!"],
    r"(?s:.)(?-s:.)z": ["\n\nz", "\naz"],
    r"\x3cx\u003e": ["<x>"],
    r"(?<n>a)\g<n>": ["aa", "a"],
    r"a{2}?b|a{3}": ["aab", "aaa"],
}
LOOKAROUND = {
    r"(?=<z>)<z>": ["<z>", "<z"],
    r"(?=[\s\S]*?</k>)": ["so</k>", "</k>"],
    r"(?<=\n)<q>": ["\n<q>", "<q>"],
    r"</x>(?!!)": ["</x>", "</x>!"],
    r"(?<!a)b": ["ab", "bb"],
    r"\)(?=\s*(?:\]|,))": [")]", ") ,", ")"],
    r"(?<=\))\](?=<end>)": [")]<end>", "]<end>"],
    r"<x>(?=\S)": ["<x>a", "<x> "],
    r"(?<=a+)b": ["aab", "b"],
    r"(?=a)(?!ab)a": ["aa", "ab"],
}
#: Patterns on which the reference's answer depends on the chunks.
VARIANT = {
    r"<end>|$": ["<end>", "<en", "\n"],
    r"<end>|\Z": ["<end>", "<e"],
    r"a(?:ba)?": ["aba", "ab"],
    r"\)(?:\]<end>)?\s*": [")]<end>", ")]"],
    r"<a.*>": ["<a>", "<a>>"],
    r".*a": ["aba", "a"],
    r"aab|a": ["aab", "aa"],
    r"b|aba": ["aba", "ab"],
    r"(?:ab)?b": ["abb", "ab"],
    r"(a+)-\1": ["aa-aa", "aa-a"],
    r"a(?!ab)": ["aab", "aa"],
    r"foo\B": ["fooa", "foo"],
    r"a>\b": ["a>b", "a>"],
    r"\Gab": ["ab", "bab"],
    r"<x>\s*\n": ["<x>\n\n", "<x> "],
}
#: Constructs that no template uses; each may be refused by its name.
EXOTIC = {
    r"a(*SKIP)b": ["ab"],
    r"(?|(a)|(b))\1": ["aa", "bb"],
    r"\X;": ["é;", "👍🏽;"],
    r"(?:think){e<=1}": ["think", "thimk"],
    r"(?r)ab": ["abab"],
    r"<x>\K\s": ["<x> "],
    r"\N{LESS-THAN SIGN}x": ["<x"],
    r"(?V1)[[a-z]--[aeiou]]+;": ["xyz;", "aei;"],
    r"\h+<x>": [" <x>"],
    r"\m\w+\M;": ["so;"],
    r"(?fi)[ß];": ["ß;", "ss;"],
    r"\R<x>": ["\r\n<x>"],
    r"(?p)a|ab": ["ab"],
}
#: Matches that end before the edge of the text and lean on it.
EDGES = {
    r"$": ["a\n", "\n", "a"],
    r"<x>$": ["<x>\n", "<x>", "<x>a"],
    r"a(?=\n?\Z)": ["a", "a\n"],
    r"<end>(?=\Z|\n)": ["<end>", "<end>\n"],
    r"a(?=$)": ["a\n", "a"],
    r"a$|b": ["a\n", "b"],
    r"a(?=(?P<n>b)?\Z|b)": ["ab", "a"],
    r"(?=.\Z)": ["a", "b"],
    r"a(?!.)": ["a", "aa"],
    r"a(?=\n$)": ["a\n", "a\n\n"],
}


@group("regex-common")
def regex_common(r: Random) -> Case:
    return placed(r, COMMON, ["<end>", "so"])


@group("regex-advanced")
def regex_advanced(r: Random) -> Case:
    return placed(r, ADVANCED, ["so", "\n"])


@group("regex-lookaround")
def regex_lookaround(r: Random) -> Case:
    return placed(r, LOOKAROUND, ["a", "b", "\n", "<end>"])


@group("oracle-variant")
def oracle_variant(r: Random) -> Case:
    if r.random() < 0.8:
        return placed(r, VARIANT, ["a", "b", "<", "\n"])
    field = {"open": r.choice([["a", "aba"], ["<a>", "<a><b>"], ["aba", "b"], ["[[x]]y", "[x]"]]), "close": "</e>"}
    return case({"x": field, "content": {}}, mix(r, [*field["open"], "</e>"], 7))


@group("regex-exotic")
def regex_exotic(r: Random) -> Case:
    return placed(r, EXOTIC, ["a", "so "])


@group("edges")
def edges(r: Random) -> Case:
    return placed(r, EDGES, ["a", "b", "\n", "<end>", ".\n"])


@group("regex-anchors-captures")
def regex_anchors_captures(r: Random) -> Case:
    """Groups of the open that take part or do not, next to anchors."""
    field = {
        "open_pattern": r.choice([r"<x(?: (?P<n>\w+))?>", r"(?m)^(?P<n>\w+)=>", r"(?P<n>^|\n)<x>", r"<x(?P<n>)>"]),
        **r.choice([{"close": "</x>"}, {"close_pattern": r"</x>$|;"}, {"close_pattern": r"(?m)</x>$"}]),
        "transform": r.choice(["{n}", {"n": "{n}", "c": "{content}"}, {"z": "{z}"}, "{content}"]),
        **maybe(r, 0.6, repeats=True),
    }
    return case(
        {"v": field, **maybe(r, 0.5, content={})}, mix(r, ["<x>", "<x k>", "f=>", "\n", "</x>", ";", "</x>\n"], 7)
    )


@group("zero-width")
def zero_width(r: Random) -> Case:
    """Delimiters that match nothing, on one side at most."""
    nothing = r.choice([r"(?=<)", r"\s*", "$", "^", r"(?<=:)", r"\b", "a?", r"(?=\d)", ""])
    fields: dict[str, Any] = r.choice(
        [
            {"x": {"open_pattern": nothing, "close": ">"}, "content": {}},
            {"x": {"open": "<", "close_pattern": nothing}, "content": {}},
            {"x": {"open": "<", "close": ">"}, "content": {"close_pattern": nothing}},
        ]
    )
    return case(fields, mix(r, ["<", ">", ":", "a", "5", " ", "\n", "a>"], 6))


@group("oracle-hang", share=0.1)
def oracle_hang(r: Random) -> Case:
    """An open and a close that both match nothing at one place: the reference never ends there, we must."""
    nothing = r.choice(["", r"(?=<)", r"\b", "a*"])
    return case({"x": {"open_pattern": nothing, "close_pattern": nothing}, "content": {}}, mix(r, ["<", "a", "b "], 4))
