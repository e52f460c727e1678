"""Events of a stream, and what OpenAI's clients make of them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

from backchat._backchat import ResponseParser

#: The names under which a message may keep what the model thought.
REASONING = ("reasoning_content", "thinking", "reasoning")


def _begin(template: Any, parser: ResponseParser | None, options: dict[str, Any]) -> ResponseParser:
    if parser is not None:
        if template is not None or options:
            raise TypeError("give a template and its options, or a parser that has them")
        return parser
    if template is None:
        raise TypeError("a template is missing, or a parser that has one")
    return ResponseParser(template, **options)


def stream(
    pieces: Iterable[str], template: Any = None, *, parser: ResponseParser | None = None, **options: Any
) -> Iterator[dict[str, Any]]:
    """Parse pieces of text as they come: every event, then `{"type": "message", "message": ...}`.

    Takes what `ResponseParser` takes, or such a parser, which can be asked for its `message` where the source fails.

    >>> template = {"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}
    >>> [event["type"] for event in stream(["Hel", "lo<e", "nd>"], template, prefix="[bot]")]
    ['region_open', 'region_chunk', 'region_chunk', 'region_close', 'message']
    """
    parser = _begin(template, parser, options)
    yield from parser.initial_events
    for piece in pieces:
        yield from parser.feed(piece)
    message, events = parser.finalize()
    yield from events
    yield {"type": "message", "message": message}


async def astream(
    pieces: AsyncIterable[str], template: Any = None, *, parser: ResponseParser | None = None, **options: Any
) -> AsyncIterator[dict[str, Any]]:
    """`stream` for an asynchronous source. It needs no thread: a feed takes less than a microsecond."""
    parser = _begin(template, parser, options)
    for event in parser.initial_events:
        yield event
    async for piece in pieces:
        for event in parser.feed(piece):
            yield event
    message, events = parser.finalize()
    for event in events:
        yield event
    yield {"type": "message", "message": message}


def openai_chunks(
    events: Iterable[dict[str, Any]], *, model: str = "", id: str | None = None
) -> Iterator[dict[str, Any]]:
    """Turn events into the `chat.completion.chunk`s of OpenAI's protocol.

    A call comes whole, when its region closes; reasoning is `reasoning_content`, whatever its field is called.

    >>> template = {"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}
    >>> chunks = list(openai_chunks(stream(["Hi<end>"], template, prefix="[bot]")))
    >>> [chunk["choices"][0]["delta"] for chunk in chunks]
    [{'role': 'assistant'}, {'content': 'Hi'}, {}]
    >>> chunks[-1]["choices"][0]["finish_reason"]
    'stop'
    """
    chunks = _Chunks(model, id)
    yield chunks.first()
    for event in events:
        yield from chunks.of(event)
    yield chunks.last()


async def aopenai_chunks(
    events: AsyncIterable[dict[str, Any]], *, model: str = "", id: str | None = None
) -> AsyncIterator[dict[str, Any]]:
    """`openai_chunks` for an asynchronous source of events, as `astream` is one.

    >>> import asyncio
    >>> async def pieces():
    ...     for piece in ("Hel", "lo<e", "nd>"):
    ...         yield piece
    >>> async def deltas(template):
    ...     events = astream(pieces(), template, prefix="[bot]")
    ...     return [chunk["choices"][0]["delta"] async for chunk in aopenai_chunks(events)]
    >>> asyncio.run(deltas({"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}))
    [{'role': 'assistant'}, {'content': 'Hel'}, {'content': 'lo'}, {}]
    """
    chunks = _Chunks(model, id)
    yield chunks.first()
    async for event in events:
        for chunk in chunks.of(event):
            yield chunk
    yield chunks.last()


class _Chunks:
    """The chunks of one answer, which share what is not their own, and number its calls."""

    def __init__(self, model: str, id: str | None) -> None:
        self.shared = {
            "id": id or f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self.calls = 0

    def first(self) -> dict[str, Any]:
        return self._chunk({"role": "assistant"})

    def of(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if event["type"] == "region_chunk" and not event["dirty"]:
            name = "reasoning_content" if event["field"] in REASONING else event["field"]
            yield self._chunk({name: event["text"]})
        elif event["type"] == "region_close" and event["field"] == "tool_calls":
            value = event["value"]
            for call in value if isinstance(value, list) else [value]:
                yield self._chunk({"tool_calls": [_call(call, self.calls)]})
                self.calls += 1

    def last(self) -> dict[str, Any]:
        return self._chunk({}, "tool_calls" if self.calls else "stop")

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {**self.shared, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _call(call: Any, index: int) -> dict[str, Any]:
    function = call.get("function", call) if isinstance(call, dict) else {}
    arguments = function.get("arguments", {})
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    own = call.get("id") if isinstance(call, dict) else None
    return {
        "index": index,
        "id": own or f"call_{index}",
        "type": "function",
        "function": {"name": function.get("name", ""), "arguments": arguments},
    }
