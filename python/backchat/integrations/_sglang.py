"""The classes that SGLang makes once the parser `backchat` is chosen."""

from __future__ import annotations

from typing import Any

from sglang.srt.parser import response_template

from backchat.integrations._served import template_for
from backchat.integrations.sglang import ResponseParser


def _prepare(tokenizer: Any) -> None:
    # SGLang's detectors make their parser by this name, and a process serves one model.
    response_template.ResponseParser = ResponseParser
    if tokenizer is not None and getattr(tokenizer, "response_template", None) is None:
        tokenizer.response_template = template_for(tokenizer)


class ToolDetector(response_template.ResponseTemplateToolDetector):
    """SGLang's detector, on Backchat's parser."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _prepare(kwargs.get("tokenizer"))
        super().__init__(*args, **kwargs)


class ReasoningDetector(response_template.ResponseTemplateReasoningDetector):
    """SGLang's detector, on Backchat's parser."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _prepare(kwargs.get("tokenizer"))
        super().__init__(*args, **kwargs)
