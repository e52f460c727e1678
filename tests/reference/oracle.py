"""The parser of the installed transformers, asked: the same rows as `backchat parse --jsonl`, the same answers."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import regex
from transformers.utils.chat_parsing import ResponseParser

from .suite.case import Case

warnings.simplefilter("ignore")

Answer = dict[str, Any]
#: A parse of the suite takes milliseconds; some templates make the reference loop forever.
SECONDS = 0.5


class Late(BaseException):
    """Not an `Exception`, which the code that is interrupted may catch."""


def _alarm(*_: Any) -> None:
    raise Late


@contextmanager
def limited() -> Iterator[None]:
    """Raises `Late` in code that takes too long, and lets it recurse as deep as Python does by itself."""
    deep = sys.getrecursionlimit()
    # Python's default, at which the reference stops reading nested JSON.
    sys.setrecursionlimit(1000)
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.setrecursionlimit(deep)


def failed(stage: str, error: BaseException) -> dict[str, str]:
    return {"stage": stage, "message": f"{type(error).__name__}: {error}"}


def reference(case: Case) -> Answer:
    """Its events feed by feed and its message, or the stage at which it raised an error."""
    answer: Answer = {"initial_events": [], "feeds": []}
    stage, at = "load", 0
    try:
        with limited():
            ResponseParser(case["template"], prefix="", tools=case["tools"])
            stage = "prefix"
            parser = ResponseParser(case["template"], prefix=case["prefix"], tools=case["tools"])
            answer["initial_events"], stage = parser.initial_events, "feed"
            for length in case["chunks"]:
                answer["feeds"].append(parser.feed(case["text"][at : at + length]))
                at += length
            stage = "finalize"
            answer["message"], answer["final_events"] = parser.finalize()
    except Late:
        answer["error"] = {"stage": "hang", "message": f"no answer within {SECONDS} seconds"}
    except Exception as error:  # noqa: BLE001
        answer["error"] = failed(stage, error)
    return answer


def canonical(case: Case) -> Answer:
    """Its answer if everything is there before it looks at anything: what `stable` mode gives at every chunking."""
    try:
        with limited():
            parser = ResponseParser(case["template"], prefix="", tools=case["tools"])
            parser._buffer = truncated(case) + case["text"]
            message, events = parser.finalize()
    except Late:
        return {"error": {"stage": "hang", "message": ""}}
    except Exception as error:  # noqa: BLE001
        return {"error": failed("finalize", error)}
    return {"message": message, "final_events": events}


def truncated(case: Case) -> str:
    """The prompt after its last anchor."""
    template, prompt = case["template"], case["prefix"]
    if not prompt:
        return ""
    literals = template.get("start_anchor", [])
    literals = sorted([literals] if isinstance(literals, str) else literals, key=len, reverse=True)
    pattern = template.get("start_anchor_pattern") or "|".join(regex.escape(literal) for literal in literals)
    ends = [match.end() for match in regex.finditer(pattern, prompt, regex.DOTALL)]
    return prompt[ends[-1] :] if ends else prompt
