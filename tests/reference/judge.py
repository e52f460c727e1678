"""Compares an answer of Backchat with that of the reference, and names the kind of a difference."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

import regex

from .suite.case import Case

Answer = dict[str, Any]
Event = dict[str, Any]
#: The keys of the reference's events; another key or type is a difference.
EVENTS = {
    "region_open": {"type", "field"},
    "region_chunk": {"type", "field", "text", "dirty"},
    "region_close": {"type", "field", "value"},
}


def plain(value: Any) -> Any:
    """A value as a row of `backchat parse` can hold it, with the order of keys and the types of numbers."""
    if isinstance(value, float):
        return ["float", repr(value)] if math.isfinite(value) else None
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {"object": [[plain(key), plain(item)] for key, item in value.items()]}
    # To Python, true is 1.
    return value if value is None or isinstance(value, bool) else ["int", value]


def groups(answer: Answer) -> list[list[Event]]:
    """The events of the prompt, of each feed, and of the end."""
    groups = [answer.get("initial_events") or [], *(answer.get("feeds") or [])]
    return [*groups, answer["final_events"]] if "final_events" in answer else groups


def steps(groups: Iterable[list[Event]]) -> tuple[list[Any], list[int]]:
    """The events as small steps, and how many were out after each group."""
    found: list[Any] = []
    marks = []
    for events in groups:
        for event in events:
            kind, field = event["type"], event["field"]
            if kind == "region_chunk":
                found += [(field, event["dirty"], character) for character in event["text"]]
            elif kind == "region_close":
                found.append((kind, field, json.dumps(plain(event["value"]))))
            else:
                found.append((kind, field))
        marks.append(len(found))
    return found, marks


def unknown(answer: Answer) -> str | None:
    """What is new in the reference's events."""
    for events in groups(answer):
        for event in events:
            if (known := EVENTS.get(event["type"])) is None:
                return f"an event of type {event['type']}"
            if more := event.keys() - known:
                return f"an event {event['type']} with {sorted(more)}"
    return None


#: The words of a refusal that COMPATIBILITY.md lists under Patterns.
INEXACT = "cannot be run exactly"


def difference(theirs: Answer, ours: Answer, *, by_feed: bool) -> str | None:
    """The kind of the difference; `None` if there is none, or the reference never answers."""
    error, our_error = theirs.get("error"), ours.get("error")
    if our_error and our_error["stage"] in ("hang", "crash"):
        return f"a {our_error['stage']}"
    if error and error["stage"] == "hang":
        return None
    if our_error and INEXACT in our_error["message"]:
        return None
    if new := unknown(theirs):
        return new
    their_steps, their_marks = steps(groups(theirs))
    our_steps, our_marks = steps(groups(ours))
    if error:
        if not our_error:
            return f"no error, theirs at {error['stage']}"
        if our_error["stage"] != error["stage"]:
            return f"an error at {our_error['stage']}, theirs at {error['stage']}"
        return None if our_steps[: len(their_steps)] == their_steps else "events before the error"
    if our_error:
        return f"an error at {our_error['stage']}"
    if plain(ours["message"]) != plain(theirs["message"]):
        return "another message"
    if our_steps != their_steps:
        return "other events"
    return "text released at another feed" if by_feed and our_marks != their_marks else None


def departs(case: Case) -> bool:
    """Whether `stable` mode may differ on purpose (COMPATIBILITY.md, Streaming and Values). The template loads."""
    for field in case["template"]["fields"].values():
        if re.search('"unquoted_keys"|"string_delims"', json.dumps(field)):
            return True
        # An implicit close that matches nothing.
        pattern = field.get("close_pattern")
        if pattern is not None and not field.keys() & {"open", "open_pattern"}:
            # At most one field is implicit.
            return matches_nothing(pattern, case)
    return False


def matches_nothing(pattern: str, case: Case) -> bool:
    text = case["prefix"] + case["text"]
    return any(match.start() == match.end() for match in regex.finditer(pattern, text, regex.DOTALL))


def stable_difference(case: Case, canonical: Answer, ours: Answer) -> str | None:
    """The same for `stable` mode, where a region that cannot be parsed is an event, and so is not compared."""
    if error := canonical.get("error"):
        missing = "Required response_template fields" in error["message"] and not departs(case)
        return "no missing field" if missing and not ours.get("missing") else None
    return None if departs(case) else difference(canonical, ours, by_feed=False)


def in_one_line(answer: Answer, other: Answer) -> str:
    """An answer in one line: its error, its message, or its events if the message is the other's."""
    if error := answer.get("error"):
        return f"error at {error['stage']}: {error['message']}"
    if plain(answer["message"]) != plain(other.get("message")):
        return json.dumps(answer["message"], ensure_ascii=False)
    return json.dumps(groups(answer), ensure_ascii=False)
