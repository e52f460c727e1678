"""The parser, compared with that of transformers over the generated suite: every feed, every event, every value."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import oracle
from ..judge import difference, in_one_line, stable_difference
from ..ours import Rows
from ..report import Difference, Result
from ..shrink import shrink
from ..suite import GROUPS, Case, cases, refit
from . import Options

#: How many differences of one kind in one group are made small.
SHRUNK = 2
MODES = ("reference", "stable")


@dataclass
class Asked:
    """Both answers to a case in one mode, and the kind of their difference."""

    theirs: dict[str, Any]
    ours: dict[str, Any]
    kind: str | None


class Parsers:
    """Both parsers in both modes."""

    def __init__(self, options: Options):
        self.ours = {mode: Rows(options.binary, "parse", "--events", "--mode", mode) for mode in MODES}

    def ask(self, case: Case, mode: str) -> Asked:
        ours = self.ours[mode].ask(case)
        if mode == "reference":
            theirs = oracle.reference(case)
            return Asked(theirs, ours, difference(theirs, ours, by_feed=True))
        theirs = oracle.canonical(case)
        return Asked(theirs, ours, stable_difference(case, theirs, ours))

    def smallest(self, case: Case, mode: str, kind: str) -> Case:
        return shrink(case, lambda case: self.ask(case, mode).kind == kind, repair=refit)

    def close(self) -> None:
        for rows in self.ours.values():
            rows.close()


#: Constructs of patterns, by what they look like there.
CONSTRUCTS = {
    "$": r"(?<!\\)\$",
    r"\Z": r"\\Z",
    r"\K": r"\\K",
    r"\b": r"\\[bB]",
    "a look-around": r"\(\?<?[=!]",
    "^": r"(?<![\\\[])\^",
}


def about_pattern(key: str, pattern: Any) -> Iterator[str]:
    if re.search(r"\(\?P?<\w", str(pattern)):
        yield f"named groups of `{key}`"
        return
    found = [
        f"`{name}`" if " " not in name else name for name, look in CONSTRUCTS.items() if re.search(look, str(pattern))
    ]
    yield f"`{key}` with {' and '.join(found)}" if found else f"`{key}`"


def about_field(field: dict[str, Any]) -> Iterator[str]:
    """What is special about a field of a smallest case."""
    parser = field.get("content", "text")
    args = field.get("content_args")
    named = [f"`{name}`" for name in args if name != "tag_pattern"] if isinstance(args, dict) else []
    if parser != "text" or named:
        yield f"content parser `{parser}`" + (f" with {' and '.join(named)}" if named else "")
    for key, value in field.items():
        if key.endswith("_pattern"):
            yield from about_pattern(key, value)
        elif key in ("join", "transform_each", "optional", "transform") and parser == "text":
            yield f"`{key}`"


def feature(case: Case) -> str:
    """What a smallest case is about, the most telling first: arguments of content parsers before patterns."""
    fields = case["template"].get("fields") if isinstance(case["template"], dict) else None
    fields = [field for field in fields.values() if isinstance(field, dict)] if isinstance(fields, dict) else []
    found = list(dict.fromkeys(word for field in fields for word in about_field(field)))
    for kind in ("` with `", "named groups", "_pattern` with", "content parser", ""):
        if chosen := [word for word in found if kind in word]:
            return ", ".join(chosen)
    return "types of tools" if case["tools"] else "literals" if fields else "the template itself"


def compared(parsers: Parsers, group: str, options: Options) -> Iterator[tuple[str, Case, Asked]]:
    """Every case of a group in both modes."""
    for case in cases(group, options.seed, options.count):
        for mode in MODES:
            yield mode, case, (asked := parsers.ask(case, mode))
            if asked.theirs.get("error", {}).get("stage") == "hang":
                break


def run(options: Options) -> Result:
    parsers = Parsers(options)
    total, unanswered, differing = 0, 0, Counter[str]()
    #: The smallest cases, by feature, mode and kind.
    small: dict[tuple[str, str, str], list[tuple[Case, str]]] = defaultdict(list)
    for group in GROUPS:
        seen = Counter[tuple[str, str]]()
        for mode, case, asked in compared(parsers, group, options):
            total += 1
            unanswered += asked.theirs.get("error", {}).get("stage") == "hang"
            if asked.kind is None:
                continue
            differing[group] += 1
            seen[mode, asked.kind] += 1
            if seen[mode, asked.kind] <= SHRUNK:
                smallest = parsers.smallest(case, mode, asked.kind)
                small[feature(smallest), mode, asked.kind].append((smallest, group))
    asked = f"{total:,} answers to cases of {len(GROUPS)} groups, seed {options.seed}"
    result = Result(
        f"{asked}; {unanswered} that the reference never ends.",
        [shown(parsers, key, found) for key, found in sorted(small.items())],
    )
    if differing:
        result.notes.append("differ, by group: " + ", ".join(f"{group} {count}" for group, count in differing.items()))
    parsers.close()
    return result


def shown(parsers: Parsers, key: tuple[str, str, str], found: list[tuple[Case, str]]) -> Difference:
    """The smallest of the smallest cases, with both answers."""
    feature, mode, kind = key
    case, _ = min(found, key=lambda each: len(json.dumps(each[0])))
    asked = parsers.ask(case, mode)
    groups = ", ".join(sorted({group for _, group in found}))
    row = {name: value for name, value in case.items() if value or name == "text"}
    return Difference(
        feature,
        f"{mode} mode: {kind} (found in {groups})",
        json.dumps(row, ensure_ascii=False),
        in_one_line(asked.theirs, asked.ours),
        in_one_line(asked.ours, asked.theirs),
    )
