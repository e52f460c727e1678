"""Events of a stream, and their conversion to OpenAI's protocol."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from backchat._backchat import ResponseParser

#: The keys that a message may use for reasoning, in order of preference.
REASONING = ("reasoning_content", "thinking", "reasoning")

#: Why the engine stopped, or a function that returns it at the end.
FinishReason: TypeAlias = str | Callable[[], str | None] | None
#: The token counts of a request, or a function that returns them at the end.
Usage: TypeAlias = dict[str, Any] | Callable[[], dict[str, Any]] | None


def _begin(template: Any, parser: ResponseParser | None, options: dict[str, Any]) -> ResponseParser:
    if parser is not None:
        if template is not None or options:
            raise TypeError("pass a template and its options, or a parser, not both")
        return parser
    if template is None:
        raise TypeError("pass a template or a parser")
    return ResponseParser(template, **{"grow_calls": True, **options})


def _feed(parser: ResponseParser, piece: str | Sequence[int]) -> list[dict[str, Any]]:
    if isinstance(piece, (bytes, bytearray)) or piece is None:
        raise TypeError(f"a piece is a str or a list of ids, not {type(piece).__name__}")
    return parser.feed(piece) if isinstance(piece, str) else parser.feed_tokens(piece)


def stream(
    pieces: Iterable[str | Sequence[int]],
    template: Any = None,
    *,
    parser: ResponseParser | None = None,
    **options: Any,
) -> Iterator[dict[str, Any]]:
    """Parse pieces of text as they arrive, or lists of ids with a `tokenizer`.

    Yields every event, then `{"type": "message", "message": ...}`.

    Takes the arguments of `ResponseParser`, or a parser, whose `message` is available even if the source fails.
    Calls are reported as they grow, by `call_start` and `call_arguments`, unless `grow_calls=False`.

    >>> template = {"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}
    >>> [event["type"] for event in stream(["Hel", "lo<e", "nd>"], template, prefix="[bot]")]
    ['region_open', 'region_chunk', 'region_chunk', 'region_close', 'message']
    """
    parser = _begin(template, parser, options)
    yield from parser.initial_events
    for piece in pieces:
        yield from _feed(parser, piece)
    message, events = parser.finalize()
    yield from events
    yield {"type": "message", "message": message}


async def astream(
    pieces: AsyncIterable[str | Sequence[int]],
    template: Any = None,
    *,
    parser: ResponseParser | None = None,
    **options: Any,
) -> AsyncIterator[dict[str, Any]]:
    """`stream` for an asynchronous source. No thread is needed: a feed takes less than a microsecond."""
    parser = _begin(template, parser, options)
    for event in parser.initial_events:
        yield event
    async for piece in pieces:
        for event in _feed(parser, piece):
            yield event
    message, events = parser.finalize()
    for event in events:
        yield event
    yield {"type": "message", "message": message}


def openai_chunks(
    events: Iterable[dict[str, Any]],
    *,
    model: str = "",
    id: str | None = None,
    finish_reason: FinishReason = None,
    usage: Usage = None,
) -> Iterator[dict[str, Any]]:
    """Turn events into the `chat.completion.chunk`s of OpenAI's protocol.

    Calls are sent as they grow if the events report that, as those of `stream` do; otherwise each is sent whole when
    its region closes. Reasoning is sent as `reasoning_content`, whatever its field is called.

    `finish_reason` is the engine's. If it is `length`, or if it is missing and the text ends inside reasoning or a
    call, the last chunk has `length`, and the arguments of a call that was cut off stay incomplete. If the text has
    problems, the last chunk has `backchat` with `problems` next to its choices. `usage` adds a chunk with the token
    counts. Both may be functions, which are called after the last event.

    >>> template = {"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}
    >>> chunks = list(openai_chunks(stream(["Hi<end>"], template, prefix="[bot]")))
    >>> [chunk["choices"][0]["delta"] for chunk in chunks]
    [{'role': 'assistant'}, {'content': 'Hi'}, {}]
    >>> chunks[-1]["choices"][0]["finish_reason"]
    'stop'
    """
    chunks = Chunks(model, id, finish_reason)
    yield chunks.first()
    for event in events:
        yield from chunks.of(event)
    yield from chunks.last(usage)


async def aopenai_chunks(
    events: AsyncIterable[dict[str, Any]],
    *,
    model: str = "",
    id: str | None = None,
    finish_reason: FinishReason = None,
    usage: Usage = None,
) -> AsyncIterator[dict[str, Any]]:
    """`openai_chunks` for an asynchronous source of events, such as `astream`.

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
    chunks = Chunks(model, id, finish_reason)
    yield chunks.first()
    async for event in events:
        for chunk in chunks.of(event):
            yield chunk
    for chunk in chunks.last(usage):
        yield chunk


def openai_completion(
    events: Iterable[dict[str, Any]],
    *,
    model: str = "",
    id: str | None = None,
    finish_reason: FinishReason = None,
    usage: Usage = None,
) -> dict[str, Any]:
    """Turn events into one `chat.completion`, the answer to a request that does not stream.

    `finish_reason` is as in `openai_chunks`. Calls are those of the message, with the model's own ids, except one that
    an earlier call has. Of a call that was cut off the answer has what there is of it. A broken call is no call, even if its arguments had begun: its text
    is content.

    >>> template = {"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}
    >>> openai_completion(stream(["Hi<end>"], template, prefix="[bot]"))["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Hi'}
    """
    chunks = Chunks(model, id, finish_reason, withdraws=True)
    texts: dict[str, str] = {}
    calls: list[dict[str, Any]] = []

    def add(more: Iterable[dict[str, Any]]) -> None:
        for chunk in more:
            delta = chunk["choices"][0]["delta"]
            for call in delta.pop("tool_calls", ()):
                if "id" in call:
                    calls[call["index"] :] = [{key: call[key] for key in ("id", "type", "function")}]
                else:
                    calls[-1]["function"]["arguments"] += call["function"]["arguments"]
            for name, text in delta.items():
                texts[name] = texts.get(name, "") + text
        del calls[chunks.calls :]

    for event in events:
        add(chunks.of(event))
    add(chunks.broken())
    content = texts.pop("content", None if calls else "")
    message: dict[str, Any] = {"role": "assistant", "content": content, **texts}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": chunks.finish_reason(has_calls=bool(calls))}
    answer = chunks.with_problems({**chunks.shared, "object": "chat.completion", "choices": [choice]})
    return answer if usage is None else {**answer, "usage": usage() if callable(usage) else usage}


class Chunks:
    """The chunks of one answer, and the members they share."""

    def __init__(
        self,
        model: str,
        id: str | None,
        finish_reason: FinishReason,
        *,
        withdraws: bool = False,
        new_id: Callable[[int], str] = "call_{}".format,
    ) -> None:
        self.shared = {
            "id": id or f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        #: The ids of the calls, in their order. No two calls have the same.
        self._ids: dict[str, None] = {}
        #: Makes the id of a call to which the model gave none, or one that an earlier call has, from a number.
        self._new_id = new_id
        #: Whether the calls of a broken region can be taken back.
        self._withdraws = withdraws
        #: Those before the open region.
        self._before = 0
        #: The text of a broken call, until it is known whether the engine's limit cut it off.
        self._broken: str | None = None
        #: Whether the open region's calls were cut off, so that the rest of it is ignored.
        self._skips = False
        self._given = finish_reason
        self._is_cut = False
        #: Whether the open region has no text yet, and the white space that may end it, which its value does not have.
        self._is_blank = True
        self._space = ""
        #: The structured text of the open region.
        self._body = ""
        #: The arguments of its calls, how many of the calls are sent, and the names and ids of those that wait: for the
        #: beginning of an object, or, if their arguments are another value, for the end of the region.
        self._grown: list[str] = []
        self._sent = 0
        self._waiting: list[tuple[str, str | None]] = []
        self._waits_for_end = False
        self._problems: list[dict[str, Any]] = []

    @property
    def calls(self) -> int:
        """How many calls there are."""
        return len(self._ids)

    def first(self) -> dict[str, Any]:
        return self._chunk({"role": "assistant"})

    def of(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        kind = event["type"]
        if kind == "problem":
            self._problems.append({key: value for key, value in event.items() if key != "type"})
            if event.get("at_end") and self._engine_says() in (None, "length"):
                self._is_cut = True
                self._skips = event.get("field") == "tool_calls"
                self._broken = None
                yield from self._begin_waiting()
            return
        yield from self.broken()
        if kind == "region_chunk" and not event["dirty"]:
            yield from self._text(event["field"], event["text"])
        elif kind == "region_chunk":
            self._body += event["text"]
        elif kind == "region_open":
            self._open()
        elif kind == "region_malformed" and event["field"] == "tool_calls":
            self._broken = event["raw"]
        elif self._skips:
            return
        elif kind == "call_start":
            self._waiting.append((event["name"], event.get("id")))
            self._grown.append("")
        elif kind == "call_arguments":
            yield from self._grow(event["delta"])
        elif kind == "region_close" and event["field"] == "tool_calls":
            yield from self._close_calls(event["value"])
        elif kind == "region_close":
            yield from self._close_text(event["field"], event["value"])

    def _open(self) -> None:
        self._skips = self._waits_for_end = False
        self._before = self.calls
        self._is_blank, self._space, self._body = True, "", ""
        self._grown, self._sent, self._waiting = [], 0, []

    def _text(self, field: str, text: str) -> Iterator[dict[str, Any]]:
        """Text of a field without the white space around it. An answer that is sent whole has that of the value."""
        if self._withdraws:
            return
        text = text.lstrip() if self._is_blank else text
        kept = text.rstrip()
        if kept:
            self._is_blank = False
            yield self._field(field, self._space + kept)
            self._space = ""
        if not self._is_blank:
            self._space += text[len(kept) :]

    def _close_text(self, field: str, value: Any) -> Iterator[dict[str, Any]]:
        """The rest of the value: all of it, or the white space at its end if the field keeps that."""
        rest = value if self._is_blank else self._space
        if isinstance(value, str) and rest and value.endswith(rest):
            yield self._field(field, rest)

    def _grow(self, more: str) -> Iterator[dict[str, Any]]:
        """More arguments of the last call, if they are an object; what follows another value comes after it."""
        if self._waiting and not more.startswith("{"):
            self._waits_for_end = True
        self._grown[-1] += more
        if self._waits_for_end or len(self._waiting) > 1:
            return
        yield from self._begin_waiting()
        yield self._chunk({"tool_calls": [{"index": self.calls - 1, "function": {"arguments": more}}]})

    def _begin_waiting(self) -> Iterator[dict[str, Any]]:
        """The calls that wait, without their arguments."""
        for name, id in self._waiting:
            yield self._begin(name, "", id)
        self._sent += len(self._waiting)
        self._waiting = []

    def _close_calls(self, value: Any) -> Iterator[dict[str, Any]]:
        calls = [_parts(call) for call in (value if isinstance(value, list) else [value])]
        if not all(isinstance(name, str) and name and _is_object(arguments) for name, arguments, _ in calls):
            # No client can take such a call.
            self._broken = self._body
            yield from self.broken()
            return
        first = 0 if self._withdraws else self._sent
        self._withdraw_from(self._before + first)
        for place, (name, arguments, id) in enumerate(calls[first:], first):
            grown = self._grown[place] if place < len(self._grown) else ""
            text = _json(arguments)
            yield self._begin(name, grown if _same(grown, text) else text, id)

    def broken(self) -> Iterator[dict[str, Any]]:
        """The text of a call that turned out broken, as content, unless a client already has a part of the call."""
        text, self._broken = self._broken, None
        if text is None:
            return
        self._waiting = []
        if self._withdraws:
            self._withdraw_from(self._before)
        if self.calls == self._before:
            yield self._field("content", text.strip())

    def last(self, usage: Usage) -> Iterator[dict[str, Any]]:
        yield from self.broken()
        yield self.with_problems(self._chunk({}, self.finish_reason(has_calls=self.calls > 0)))
        if usage is not None:
            yield {**self.shared, "choices": [], "usage": usage() if callable(usage) else usage}

    def with_problems(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer, with the problems of the text if there are any."""
        return {**answer, "backchat": {"problems": self._problems}} if self._problems else answer

    def finish_reason(self, *, has_calls: bool) -> str:
        given = self._engine_says()
        if given not in (None, "stop", "tool_calls"):
            return given
        if self._is_cut:
            return "length"
        return "tool_calls" if has_calls else "stop"

    def _engine_says(self) -> str | None:
        return self._given() if callable(self._given) else self._given

    def _begin(self, name: str, arguments: str, id: Any) -> dict[str, Any]:
        index = number = self.calls
        while not isinstance(id, str) or not id or id in self._ids:
            id = self._new_id(number)
            number += 1
        self._ids[id] = None
        function = {"name": name, "arguments": arguments}
        return self._chunk({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})

    def _withdraw_from(self, index: int) -> None:
        """Forget the calls from this one on."""
        while self.calls > index:
            self._ids.popitem()

    def _field(self, name: str, text: str) -> dict[str, Any]:
        return self._chunk({"reasoning_content" if name in REASONING else name: text})

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {**self.shared, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _parts(call: Any) -> tuple[Any, Any, str | None]:
    """The name, the arguments and the id of a call."""
    call = call if isinstance(call, dict) else {}
    function = call.get("function", call)
    function = function if isinstance(function, dict) else {}
    return function.get("name"), function.get("arguments"), call.get("id")


def _is_object(arguments: Any) -> bool:
    """Whether arguments are an object, none, or the text of an object."""
    if not isinstance(arguments, str):
        return arguments is None or isinstance(arguments, dict)
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _json(arguments: Any) -> str:
    """The JSON text of arguments."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else _finite(arguments), ensure_ascii=False)


def _same(text: str, other: str) -> bool:
    """Whether two texts are the same JSON, however their numbers are written."""
    try:
        return bool(text) and json.dumps(_finite(json.loads(text))) == json.dumps(json.loads(other))
    except ValueError:
        return False


def _finite(value: Any) -> Any:
    """The value with None for the numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
