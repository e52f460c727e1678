"""Backchat in vLLM: `vllm serve MODEL --reasoning-parser backchat --tool-call-parser backchat --enable-auto-tool-choice`."""

from __future__ import annotations

import sys

from backchat.integrations._served import ResponseParser

__all__ = ["ResponseParser", "plugin", "register"]

NAME = "backchat"
CLASSES = "backchat.integrations._vllm"


def register() -> None:
    """Register the reasoning parser and the tool parser `backchat`, which are imported only if they are selected."""
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    ReasoningParserManager.register_lazy_module(NAME, CLASSES, "ReasoningParser")
    ToolParserManager.register_lazy_module(NAME, CLASSES, "ToolParser")


#: vLLM calls this in each of its processes.
plugin = register


def _inside_vllm() -> bool:
    """Whether vLLM has loaded its managers, as it has when `--tool-parser-plugin` names this module."""
    managers = (("vllm.tool_parsers", "ToolParserManager"), ("vllm.reasoning", "ReasoningParserManager"))
    return all(
        hasattr(getattr(sys.modules.get(module), name, None), "register_lazy_module") for module, name in managers
    )


# vLLM only imports a plug-in that an option names, and never calls it.
if _inside_vllm():
    register()
