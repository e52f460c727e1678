"""The generated suite: cases in groups, each group about one part of the format, each case from its own seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

# Imported for their groups.
from . import calls, delimiters, drafts, flawed, patterns, shapes, values  # noqa: F401
from .case import GROUPS, SHARES, Case, chunkings, refit

__all__ = ["GROUPS", "Case", "cases", "refit"]


def cases(name: str, seed: int, count: int) -> Iterator[Case]:
    """About `count` cases of a group, each at up to three chunkings. The same seed gives the same cases."""
    for number in range(math.ceil(count * SHARES[name])):
        r = Random(f"{seed} {name} {number}")
        made = GROUPS[name](r)
        for lengths in chunkings(r, made["text"]):
            yield {**made, "chunks": lengths}
