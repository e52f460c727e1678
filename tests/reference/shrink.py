"""The smallest variant of a JSON value for which something still holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def shrink(value: T, holds: Callable[[T], bool], *, repair: Callable[[T], T] | None = None, checks: int = 4000) -> T:
    """Replace the value by smaller ones for which `holds` is true, until none of them does or `checks` are used up.

    `repair` restores what every value must satisfy, such as lengths that add up. Equal values shrink to equal results.
    """
    start, size, tried = 0, len(json.dumps(value)), set[str]()
    while True:
        for at, candidate in enumerate(smaller(value)):
            # The cuts before this one failed a moment ago, on a value that was little larger.
            if at < start:
                continue
            candidate = repair(candidate) if repair is not None else candidate
            text = json.dumps(candidate)
            # A repair may undo a cut, or make a value longer.
            if candidate == value or len(text) > size or text in tried:
                continue
            if len(tried) == checks:
                return value
            tried.add(text)
            if holds(candidate):
                value, size, start = candidate, len(text), at
                break
        else:
            if start == 0:
                return value
            start = 0


def smaller(value: Any) -> Iterator[Any]:
    """Simpler values of the same kind, those that cut most first."""
    if isinstance(value, dict):
        for key in value:
            yield {other: item for other, item in value.items() if other != key}
        for key, item in value.items():
            for simpler in smaller(item):
                yield {**value, key: simpler}
    elif isinstance(value, list):
        yield from pieces(value)
        if len(value) == 1:
            yield value[0]
        for at, item in enumerate(value):
            for simpler in smaller(item):
                yield [*value[:at], simpler, *value[at + 1 :]]
    elif isinstance(value, str):
        yield from pieces(value)
        # Letters without a meaning are all the same.
        for at, character in enumerate(value):
            if character.isalnum() and character not in "ab01":
                yield value[:at] + ("1" if character.isdigit() else "a") + value[at + 1 :]
    elif isinstance(value, bool):
        pass
    elif isinstance(value, (int, float)) and value not in (0, 1):
        yield 0
        yield 1


def pieces(whole: Any) -> Iterator[Any]:
    """A list or text without ever smaller parts of it."""
    size = len(whole)
    while size > 0:
        for start in range(0, len(whole), size):
            yield whole[:start] + whole[start + size :]
        size //= 2
