"""Backchat in SGLang: `python -m sglang.launch_server --reasoning-parser backchat --tool-call-parser backchat`."""

from __future__ import annotations

from typing import Any

from backchat.integrations._served import ResponseParser, template_for

__all__ = ["ResponseParser", "plugin", "register"]

NAME = "backchat"


def register() -> None:
    """Add `backchat` to SGLang's tool parsers and reasoning parsers."""
    from sglang.srt.function_call.function_call_parser import FunctionCallParser
    from sglang.srt.parser import response_template
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    def derived(kwargs: dict[str, Any]) -> None:
        tokenizer = kwargs.get("tokenizer")
        if tokenizer is not None and getattr(tokenizer, "response_template", None) is None:
            tokenizer.response_template = template_for(tokenizer)

    class ToolDetector(response_template.ResponseTemplateToolDetector):
        """SGLang's detector, on Backchat's parser."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            # SGLang's detectors make their parser by this name, and a process serves one model.
            response_template.ResponseParser = ResponseParser
            derived(kwargs)
            super().__init__(*args, **kwargs)

    class ReasoningDetector(response_template.ResponseTemplateReasoningDetector):
        """SGLang's detector, on Backchat's parser."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            response_template.ResponseParser = ResponseParser
            derived(kwargs)
            super().__init__(*args, **kwargs)

    FunctionCallParser.ToolCallParserEnum[NAME] = ToolDetector
    ReasoningParser.DetectorMap[NAME] = ReasoningDetector


#: What SGLang calls in each of its processes.
plugin = register
