"""The classes that vLLM makes once the parser `backchat` is chosen."""

from __future__ import annotations

from typing import Any

from vllm.parser import response_template

from backchat.integrations._served import ResponseParser, template_for

# vLLM's own adapters turn events into deltas. They make their parser by this name, and a process serves one model: from
# here on it is Backchat's.
response_template.ResponseParser = ResponseParser


def _template(tokenizer: Any, given: dict[str, Any] | None) -> dict[str, Any] | None:
    return given if response_template.resolve_response_template(tokenizer, given) else template_for(tokenizer)


class ResponseTemplateParser(response_template.ResponseTemplateParser):
    """vLLM's adapter, with a derived template where the model has none."""

    def __init__(self, tokenizer: Any, *args: Any, response_template: Any = None, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, response_template=_template(tokenizer, response_template), **kwargs)


class ReasoningParser(response_template.ResponseTemplateReasoningParser):
    """Tells vLLM where reasoning ends."""

    def __init__(self, tokenizer: Any, *args: Any, response_template: Any = None, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, response_template=_template(tokenizer, response_template), **kwargs)

    @classmethod
    def unified_parser_cls(cls) -> type[ResponseTemplateParser]:
        """The parser that choosing this one stands for."""
        return ResponseTemplateParser


class ToolParser(response_template.ResponseTemplateToolParser):
    """Stands for `ResponseTemplateParser`, which reads the calls."""

    @classmethod
    def unified_parser_cls(cls) -> type[ResponseTemplateParser]:
        """The parser that choosing this one stands for."""
        return ResponseTemplateParser


ResponseTemplateParser.reasoning_parser_cls = ReasoningParser
ResponseTemplateParser.tool_parser_cls = ToolParser
