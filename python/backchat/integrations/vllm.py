"""Backchat in vLLM: `vllm serve MODEL --reasoning-parser backchat --tool-call-parser backchat --enable-auto-tool-choice`."""

from __future__ import annotations

from backchat.integrations._served import ResponseParser

__all__ = ["ResponseParser", "plugin", "register"]

NAME = "backchat"
CLASSES = "backchat.integrations._vllm"


def register() -> None:
    """Register the reasoning parser and the tool parser `backchat`. Nothing of them is imported before they are chosen."""
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    ReasoningParserManager.register_lazy_module(NAME, CLASSES, "ReasoningParser")
    ToolParserManager.register_lazy_module(NAME, CLASSES, "ToolParser")


#: What vLLM calls in each of its processes.
plugin = register
