"""The classes that vLLM makes once the parser `backchat` is chosen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from vllm import envs
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.exceptions import VLLMValidationError
from vllm.logger import init_logger
from vllm.parser import response_template as theirs
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.tool_strict_level import ToolStrictLevel

import backchat
from backchat.integrations._model import grammar_of, leave_out, prepare, template_of
from backchat.integrations._served import ResponseParser
from backchat.integrations.vllm import NAME

#: The reader that derived templates are written for.
TARGET = "vllm"

logger = init_logger("vllm.backchat")

# vLLM's own adapters turn events into deltas. They make their parser by this name, and a process serves one model: from
# here on it is Backchat's.
theirs.ResponseParser = ResponseParser

_validate = theirs.validate_tokenizer_response_template


def _validate_with_derived(tokenizer: Any, *, reasoning_parser: str | None, tool_parser: str | None) -> None:
    """vLLM's check at startup, which comes before any class of ours is made.

    A model without a response template gets the derived one. One that does not reason passes with a reasoning parser,
    which then finds nothing.
    """
    if NAME in (reasoning_parser, tool_parser):
        prepare(tokenizer, TARGET)
        if not _reasons(tokenizer):
            reasoning_parser = None
    _validate(tokenizer, reasoning_parser=reasoning_parser, tool_parser=tool_parser)


def _reasons(tokenizer: Any) -> bool:
    return theirs.THINKING_FIELD in (template_of(tokenizer) or {}).get("fields", {})


# The manager asks for it by this name once it has imported the chosen classes, and so this module.
theirs.validate_tokenizer_response_template = _validate_with_derived


class _Stream(theirs._ResponseStream):
    """vLLM's stream of one generation, from which a call that was cut off is left out.

    The contract takes a call as one delta, sent when its region closes.
    """

    def __init__(self, template: Any, *, prefix: str, tools: list[dict[str, Any]], **options: Any) -> None:
        super().__init__(template, prefix=prefix, tools=tools, **options)
        self.parser = ResponseParser(template, prefix=prefix, tools=tools, problems=True)
        self._is_cut_off = False

    def _route(self, events: Sequence[dict[str, Any]], delta: Any) -> None:
        for event in events:
            if event["type"] == "region_open":
                self._is_cut_off = False
            if event["type"] == "problem":
                is_call = event.get("field") == theirs.TOOL_FIELD and self.parse_tools
                self._is_cut_off |= is_call and event["kind"] == "unclosed" and event.get("at_end", False)
            elif event["type"] == "region_close" and self._is_cut_off:
                logger.warning("dropping a tool call that the end of the output cut off")
            else:
                super()._route([event], delta)


class ResponseTemplateParser(theirs.ResponseTemplateParser):
    """vLLM's adapter on Backchat's parser, with grammars in the model's own format."""

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        prepare(tokenizer, TARGET)
        super().__init__(tokenizer, *args, **kwargs)
        leave_out(tokenizer, self.response_template)

    def _new_stream(self, request: Any, *, enable_auto_tools: bool, include_reasoning: bool) -> _Stream:
        return _Stream(
            self.response_template,
            prefix=self._prefix,
            tools=self._tools,
            parse_reasoning=self._reasoning_parser is not None,
            include_reasoning=include_reasoning,
            parse_tools=self._tool_parser is not None
            and theirs._tool_parsing_enabled(request, enable_auto_tools=enable_auto_tools),
            new_tool_call_id=self._new_tool_call_id,
        )

    def _constrain_request(self, request: Any) -> Any:
        is_forced = request.tool_choice == "required" or theirs._is_named_tool_choice(request)
        if not self._guarantees(request, is_forced):
            return request
        if not is_forced and request.extract_structured_outputs() is not None:
            logger.warning_once("strict tools and parallel_tool_calls=False are not enforced beside structured outputs")
            return request
        grammar = StructuredOutputsParams(structural_tag=json.dumps(self._tag(request)))
        if isinstance(request, ChatCompletionRequest):
            request.structured_outputs = grammar
            request.response_format = None
        else:
            request._parser_structured_outputs = grammar
        # The tag goes on from the prompt, so it covers reasoning, too.
        request._grammar_from_parser = True
        return request

    def _guarantees(self, request: Any, is_forced: bool) -> bool:
        """Whether a request asks for something that only a grammar can guarantee."""
        if self._tool_parser is None or not request.tools:
            return False
        if not theirs._tool_parsing_enabled(request, enable_auto_tools=self._enable_auto_tools):
            return False
        if is_forced or request.parallel_tool_calls is False:
            return True
        level = self.tool_strict_level
        level = self._tool_parser.default_tool_strict_level if level is None else level
        is_strict = level >= ToolStrictLevel.FUNCTION or any(map(theirs._tool_is_strict, request.tools))
        return bool(envs.VLLM_ENFORCE_STRICT_TOOL_CALLING) and is_strict

    def _tag(self, request: Any) -> dict[str, Any]:
        choice = request.tool_choice
        choice = choice.model_dump() if hasattr(choice, "model_dump") else choice
        parallel = False if request.parallel_tool_calls is False else None
        template = theirs.resolve_response_template(self.model_tokenizer)
        try:
            made = grammar_of(self.model_tokenizer, template).for_request(
                theirs._as_tool_dicts(request.tools),
                tool_choice=choice,
                parallel=parallel,
                prompt=self._prefix or None,
                format="structural-tag",
            )
        except backchat.TemplateError as error:
            raise VLLMValidationError(str(error), parameter="tools") from error
        tag: dict[str, Any] = made["grammar"]
        return tag


class ReasoningParser(theirs.ResponseTemplateReasoningParser):
    """Tells vLLM where reasoning ends: at once, if the model does not reason."""

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        prepare(tokenizer, TARGET)
        super().__init__(tokenizer, *args, **kwargs)

    @classmethod
    def unified_parser_cls(cls) -> type[ResponseTemplateParser]:
        """The parser that choosing this one stands for."""
        return ResponseTemplateParser

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether no reasoning follows these tokens."""
        return theirs.THINKING_FIELD not in self.response_template.fields or super().is_reasoning_end(input_ids)


class ToolParser(theirs.ResponseTemplateToolParser):
    """Stands for `ResponseTemplateParser`, which reads the calls."""

    @classmethod
    def unified_parser_cls(cls) -> type[ResponseTemplateParser]:
        """The parser that choosing this one stands for."""
        return ResponseTemplateParser


ResponseTemplateParser.reasoning_parser_cls = ReasoningParser
ResponseTemplateParser.tool_parser_cls = ToolParser
