"""Backchat in SGLang: `python -m sglang.launch_server --reasoning-parser backchat --tool-call-parser backchat`."""

from __future__ import annotations

from backchat.integrations._served import ResponseParser

__all__ = ["ResponseParser", "plugin", "register"]

NAME = "backchat"


def register() -> None:
    """Add `backchat` to SGLang's tool parsers and reasoning parsers."""
    from sglang.srt.function_call.function_call_parser import FunctionCallParser
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    from backchat.integrations import _sglang

    FunctionCallParser.ToolCallParserEnum[NAME] = _sglang.ToolDetector
    ReasoningParser.DetectorMap[NAME] = _sglang.ReasoningDetector


#: What SGLang calls in each of its processes.
plugin = register
