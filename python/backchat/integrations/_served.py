"""A parser with the event interface of vLLM and SGLang."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import backchat
from backchat.integrations._model import recover_of
from backchat.integrations._spec import spec_of

if TYPE_CHECKING:
    from typing_extensions import Self


class ResponseParser(backchat.ResponseParser):
    """Backchat's parser with the servers' event interface.

    Events have spans in characters of `input_text`, open events have the captures of their delimiter, and a region
    that cannot be parsed ends in `region_malformed` with an `error`. No chunk contains a piece of the prompt.
    `problems` and `grow_calls` enable events that the servers' own code does not have: `problem`, `call_start` and
    `call_arguments`. The recovery policies are those of `BACKCHAT_RECOVER`, except those that change answers in the
    model's own format. With a `tokenizer`, `feed_tokens` parses ids, the prompt is ids or text, and `feed` parses text
    whose ids are unknown.
    """

    initial_events: list[dict[str, Any]]
    _problems: bool
    _takes_ids: bool

    def __new__(
        cls,
        response_template: Any,
        prefix: str | Sequence[int] | None = None,
        *,
        tools: Any = None,
        constrained: bool = False,
        problems: bool = False,
        grow_calls: bool = False,
        tokenizer: Any = None,
        policy: Literal["exact", "either"] = "exact",
        stop_ids: Sequence[int] = (),
    ) -> Self:
        parser = super().__new__(
            cls,
            spec_of(response_template),
            prefix,
            tools=tools,
            spans=True,
            closers_in_strings="text" if constrained else "ends",
            grow_calls=grow_calls,
            recover=recover_of(response_template),
            tokenizer=tokenizer,
            policy=policy,
            stop_ids=stop_ids,
        )
        parser._problems = problems
        parser._takes_ids = tokenizer is not None
        parser.initial_events[:] = parser._in_contract(parser.initial_events)
        return parser

    def feed(self, text: str) -> list[dict[str, Any]]:
        """Parse the next piece of the model's text; return its events."""
        return self._in_contract(self._feed_spelled(text) if self._takes_ids else super().feed(text))

    def feed_tokens(self, ids: Sequence[int]) -> list[dict[str, Any]]:
        """Parse the model's next ids; return their events."""
        return self._in_contract(super().feed_tokens(ids))

    def finalize(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """End the message; return it and the last events."""
        message, events = super().finalize()
        return message, self._in_contract(events)

    def _in_contract(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for event in events:
            if event["type"] == "region_malformed":
                del event["text"]
                event["error"] = backchat.ParseError(f"field `{event['field']}`: {event.pop('reason')}")
        return events if self._problems else [event for event in events if event["type"] != "problem"]
