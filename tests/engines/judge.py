"""Whether an answer is what a request asked for."""

from __future__ import annotations

import json

import jsonschema

from .answer import Answer
from .asks import ANSWER, NAMED, PARAMETERS

#: Answers that no grammar can promise: the limit ended them, or they hold bytes that are no text.
CUT, NOISE = "cut at the limit", "not UTF-8"
#: A call that nothing constrained broke after the stream had sent its beginning: `serve` names the problem.
BROKEN = "broken halfway"
#: What a decoder writes in place of bytes that are no text.
REPLACEMENT = "\ufffd"
#: Kinds whose answer is at least one call.
DEMANDED = {"required", "named", "one call"}


def verdict(kind: str, answer: Answer) -> str | None:
    """What is wrong with an answer, `CUT`, `NOISE` or `BROKEN`; `None` if it is right."""
    if answer.finish == "length":
        return CUT
    if REPLACEMENT in repr(answer):
        return NOISE
    if kind in DEMANDED and not answer.calls:
        return "no call"
    if kind == "one call" and len(answer.calls) > 1:
        return f"{len(answer.calls)} calls"
    if kind == "json_schema" and answer.calls:
        return "a call without tools"
    if kind == "json_schema" or (kind == "format or call" and not answer.calls):
        return _misfit(answer.content, ANSWER)
    wrong = _end(kind, answer) or next(filter(None, (_call(kind, *call) for call in answer.calls)), None)
    return BROKEN if wrong and kind == "auto" and answer.problems else wrong


def _end(kind: str, answer: Answer) -> str | None:
    # The protocol of a named tool ends in `stop`; engines follow it, or treat it as any other call.
    ends = {"tool_calls"} if answer.calls else {"stop"}
    if kind == "named":
        ends.add("stop")
    return None if answer.finish in ends else f"finish_reason {answer.finish}"


def _call(kind: str, name: str, arguments: str) -> str | None:
    if kind == "auto":
        # Nothing is constrained: a random model makes up names.
        return _misfit(arguments, {"type": "object"})
    if name not in PARAMETERS or (kind == "named" and name != NAMED):
        return f"a call of {name!r}"
    return _misfit(arguments, PARAMETERS[name])


def _misfit(text: str, schema: dict[str, object]) -> str | None:
    try:
        jsonschema.validate(json.loads(text), schema)
    except ValueError as error:
        return f"no JSON: {error}"
    except jsonschema.ValidationError as error:
        return f"not valid: {error.message}"
    return None
