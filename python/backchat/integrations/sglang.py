"""Backchat in SGLang: `python -m sglang.launch_server --reasoning-parser backchat --tool-call-parser backchat`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import backchat
from backchat.integrations import _served
from backchat.integrations._spec import spec_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ResponseParser", "plugin", "register"]

NAME = "backchat"


class ResponseParser(_served.ResponseParser):
    """Backchat's parser with SGLang's interface: chunks are `dirty` unless their text is the final value."""

    def __new__(cls, response_template: Any, prefix: str | None = None, **options: Any) -> Self:
        parser = super().__new__(cls, response_template, prefix, **options)
        spec = spec_of(response_template)
        fields = (spec.to_dict() if isinstance(spec, backchat.Template) else spec)["fields"]
        parser._verbatim = {
            name
            for name, field in fields.items()
            if field.get("content", "text") == "text" and field.get("transform") is None
        }
        parser._asked = (response_template, prefix, options)
        parser._mark(parser.initial_events)
        return parser

    _verbatim: set[str]
    _asked: tuple[Any, str | None, dict[str, Any]]

    def growing(self) -> Self:
        """A new parser like this one that also reports problems, and calls as they grow."""
        response_template, prefix, options = self._asked
        return type(self)(response_template, prefix, **{**options, "grow_calls": True, "problems": True})

    def _mark(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for event in events:
            if event["type"] == "region_chunk":
                event["dirty"] = event["field"] not in self._verbatim
        return events

    def feed(self, text: str) -> list[dict[str, Any]]:
        """Parse the next piece of the model's text; return its events."""
        return self._mark(super().feed(text))

    def finalize(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """End the message; return it and the last events."""
        message, events = super().finalize()
        return message, self._mark(events)

    def _coerce_tool_calls(self, value: Any, json_values: bool = False) -> Any:
        """Cast the arguments of calls to the types of their tools; SGLang also passes whether they were JSON before."""
        return super()._coerce_tool_calls(value)


def register() -> None:
    """Add `backchat` to SGLang's tool parsers and reasoning parsers."""
    from sglang.srt.function_call.function_call_parser import FunctionCallParser
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    from backchat.integrations import _sglang

    FunctionCallParser.ToolCallParserEnum[NAME] = _sglang.ToolDetector
    ReasoningParser.DetectorMap[NAME] = _sglang.ReasoningDetector


#: SGLang calls this in each of its processes.
plugin = register
