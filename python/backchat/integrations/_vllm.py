"""The classes that vLLM instantiates if the parser `backchat` is selected."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Any

from vllm import envs
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.exceptions import VLLMValidationError
from vllm.logger import init_logger
from vllm.parser import response_template as theirs
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.tool_strict_level import ToolStrictLevel

import backchat
from backchat.integrations._ids import IdsParser, Reading, policy, reading_of
from backchat.integrations._model import grammar_of, leave_out, prepare, template_of
from backchat.integrations._release import require
from backchat.integrations._served import ResponseParser
from backchat.integrations.vllm import NAME

#: The first release with the interfaces that this module replaces.
OLDEST = (0, 33)

#: The reader that derived templates are written for: the frontend that loads this plug-in.
TARGET = "vllm-python"

require("vllm", OLDEST)

logger = init_logger("vllm.backchat")

# vLLM's own adapters turn events into deltas. They create their parser by this name, and a process serves one model:
# from here on it is Backchat's.
theirs.ResponseParser = ResponseParser

_validate = theirs.validate_tokenizer_response_template


def _validate_with_derived(tokenizer: Any, *, reasoning_parser: str | None, tool_parser: str | None) -> None:
    """vLLM's check at startup, which runs before any of our classes is instantiated.

    A model without a response template gets the derived one. A model that does not reason passes even with a reasoning
    parser, which then finds nothing.
    """
    if NAME in (reasoning_parser, tool_parser):
        policy()
        prepare(tokenizer, TARGET)
        if not _reasons(tokenizer):
            reasoning_parser = None
    _validate(tokenizer, reasoning_parser=reasoning_parser, tool_parser=tool_parser)


def _reasons(tokenizer: Any) -> bool:
    return theirs.THINKING_FIELD in (template_of(tokenizer) or {}).get("fields", {})


# The manager looks it up by this name after it has imported the selected classes, and with them this module.
theirs.validate_tokenizer_response_template = _validate_with_derived


class _Stream(theirs._ResponseStream):
    """vLLM's stream of one generation, without calls that were cut off.

    vLLM's interface sends a call as one delta when its region closes.
    """

    def __init__(self, template: Any, parser: ResponseParser, *, new_ids: list[int], **options: Any) -> None:
        super().__init__(template, prefix="", tools=[], **options)
        self.parser = parser
        self._prefix_end = len(parser.input_text)
        self._open_region = None
        self._track(parser.initial_events)
        self._new_ids = new_ids
        self._is_cut_off = False

    def feed(self, text: str, *, finished: bool) -> Any:
        """Parse the next text, and its ids if ids are parsed; return the delta."""
        if isinstance(self.parser, IdsParser):
            self.parser.take(self._new_ids)
            self.parser.is_last = finished
        self._new_ids.clear()
        return super().feed(text, finished=finished)

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


def _of_prompt(template: Any, prompt: str | list[int], reading: Reading) -> ResponseParser:
    return ResponseParser(template, prompt, tokenizer=reading.tokenizer, policy=reading.policy)


class _ReasoningIds:
    """Counts the ids whose text is reasoning, with the interface of vLLM's own counter. Ids are parsed once."""

    def __init__(self, parser: ResponseParser) -> None:
        self._parser = parser
        self._ids: list[int] = []
        #: The end of the prompt's text, then the end of each id's text.
        self._ends = [len(parser.input_text)]
        #: The regions of reasoning. The end of an open region is infinite.
        self._regions: list[tuple[int, float]] = []
        self._track(parser.initial_events)

    def continues(self, token_ids: Sequence[int]) -> bool:
        """Whether these ids begin with the counted ones."""
        return list(token_ids[: len(self._ids)]) == self._ids

    def count(self, token_ids: Sequence[int]) -> int:
        """How many ids of an answer are reasoning."""
        for token in token_ids[len(self._ids) :]:
            self._track(self._parser.feed_tokens([token]))
            self._ids.append(token)
            self._ends.append(len(self._parser.input_text))
        # An id that only begins a character counts at the position of that character.
        places = [(start, max(end, start + 1)) for start, end in pairwise(self._ends)]
        return sum(any(start < last and first < end for first, last in self._regions) for start, end in places)

    def _track(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            if event.get("field") != theirs.THINKING_FIELD:
                continue
            if event["type"] == "region_open":
                self._regions.append((event["end"], inf))
            elif event["type"] in ("region_close", "region_malformed"):
                self._regions[-1:] = [(first, event["start"]) for first, _ in self._regions[-1:]]


def _stops(tokenizer: Any, request: Any) -> set[int]:
    """The ids that end an answer, as far as a parser can know."""
    stops = set(getattr(request, "stop_token_ids", None) or ())
    end = getattr(tokenizer, "eos_token_id", None)
    return stops if end is None or getattr(request, "ignore_eos", False) else stops | {end}


def _answer_format(request: Any) -> dict[str, Any] | None:
    """The JSON that a request asks for, as `response_format`; `None` if the request has other structured outputs too.

    vLLM itself enforces the bare schema once reasoning has ended, which may never happen.
    """
    asked: Any = getattr(request, "response_format", None) or getattr(getattr(request, "text", None), "format", None)
    if getattr(asked, "type", None) not in ("json_object", "json_schema") or request.structured_outputs is not None:
        return None
    dumped: dict[str, Any] = asked.model_dump(by_alias=True, exclude_none=True)
    if dumped["type"] == "json_schema" and "json_schema" not in dumped:
        # `text.format` of the Responses API has the members of `json_schema` beside the type.
        members = {name: value for name, value in dumped.items() if name != "type"}
        return {"type": "json_schema", "json_schema": members}
    return dumped


class ResponseTemplateParser(theirs.ResponseTemplateParser):
    """vLLM's adapter with Backchat's parser, and grammars in the model's own format."""

    #: vLLM's own counter, or ours.
    _reasoning_counter: Any

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        prepare(tokenizer, TARGET)
        super().__init__(tokenizer, *args, **kwargs)
        leave_out(tokenizer, self.response_template)
        #: The ids that the stream has not seen yet.
        self._new_ids: list[int] = []

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,
        model_output_token_ids: Sequence[int] = (),
    ) -> Any:
        """Parse a whole output."""
        self._new_ids[:] = model_output_token_ids
        return super().parse(model_output, request, enable_auto_tools, model_output_token_ids)

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: list[int],
        request: Any,
        prompt_token_ids: list[int] | None = None,
        *,
        finished: bool,
    ) -> Any:
        """Parse a piece of an output; return the delta."""
        self._new_ids += delta_token_ids
        return super().parse_delta(delta_text, delta_token_ids, request, prompt_token_ids, finished=finished)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """How many ids of an answer are reasoning."""
        counter = self._reasoning_counter
        if counter is None or not counter.continues(token_ids):
            reading = reading_of(self.model_tokenizer, self.response_template)
            if reading is not None:
                self._reasoning_counter = _ReasoningIds(_of_prompt(self.response_template, self._prompt, reading))
        counted: int = super().count_reasoning_tokens(token_ids)
        return counted

    @property
    def _prompt(self) -> str | list[int]:
        ids: list[int] | None = self._prompt_token_ids
        return str(self._prefix) if ids is None else ids

    def _parser(self, request: Any) -> ResponseParser:
        """The parser of an answer: of its ids if vLLM passes them and Backchat supports the tokenizer."""
        template, tools = self.response_template, self._tools
        reading = reading_of(self.model_tokenizer, template) if self._new_ids else None
        if reading is None:
            return ResponseParser(template, self._prefix, tools=tools, problems=True)
        if getattr(request, "_grammar_from_parser", False):
            # A structural tag constrains text: the model may spell a marker in ordinary tokens.
            reading = reading._replace(policy="either")
        stops = _stops(self.model_tokenizer, request)
        return IdsParser(template, self._prompt, reading, stops, tools=tools, problems=True)

    def _new_stream(self, request: Any, *, enable_auto_tools: bool, include_reasoning: bool) -> _Stream:
        return _Stream(
            self.response_template,
            self._parser(request),
            new_ids=self._new_ids,
            parse_reasoning=self._reasoning_parser is not None,
            include_reasoning=include_reasoning,
            parse_tools=self._tool_parser is not None
            and theirs._tool_parsing_enabled(request, enable_auto_tools=enable_auto_tools),
            new_tool_call_id=self._new_tool_call_id,
        )

    def _constrain_request(self, request: Any) -> Any:
        is_forced = request.tool_choice == "required" or theirs._is_named_tool_choice(request)
        # A required call takes the place of the answer.
        answer = None if is_forced else _answer_format(request)
        if answer is None and not self._guarantees(request, is_forced):
            return request
        if not is_forced and answer is None and request.extract_structured_outputs() is not None:
            logger.warning_once("strict tools and parallel_tool_calls=False are not enforced beside structured outputs")
            return request
        grammar = StructuredOutputsParams(structural_tag=json.dumps(self._tag(request, answer)))
        if isinstance(request, ChatCompletionRequest):
            request.structured_outputs = grammar
            request.response_format = None
        else:
            request._parser_structured_outputs = grammar
        # The tag continues the prompt, so it covers reasoning as well.
        request._grammar_from_parser = True
        return request

    def _guarantees(self, request: Any, is_forced: bool) -> bool:
        """Whether a request needs a grammar."""
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

    def _tag(self, request: Any, answer: dict[str, Any] | None) -> dict[str, Any]:
        choice = request.tool_choice
        body: dict[str, Any] = {}
        if request.tools and self._tool_parser is not None:
            body["tools"] = theirs._as_tool_dicts(request.tools)
            body["tool_choice"] = choice.model_dump() if hasattr(choice, "model_dump") else choice
        if request.parallel_tool_calls is False:
            body["parallel_tool_calls"] = False
        if answer is not None:
            body["response_format"] = answer
        template = theirs.resolve_response_template(self.model_tokenizer)
        try:
            made = grammar_of(self.model_tokenizer, template).for_request(
                request=body, prompt=self._prefix or None, format="structural-tag"
            )
        except backchat.TemplateError as error:
            raise VLLMValidationError(str(error), parameter="response_format" if answer else "tools") from error
        tag: dict[str, Any] = made["grammar"]
        return tag


class ReasoningParser(theirs.ResponseTemplateReasoningParser):
    """Finds the end of reasoning for vLLM: immediately if the model does not reason."""

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        prepare(tokenizer, TARGET)
        super().__init__(tokenizer, *args, **kwargs)

    @classmethod
    def unified_parser_cls(cls) -> type[ResponseTemplateParser]:
        """The parser that this one selects."""
        return ResponseTemplateParser

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether no reasoning follows these tokens."""
        if theirs.THINKING_FIELD not in self.response_template.fields:
            return True
        ended: bool
        reading = reading_of(self.model_tokenizer, self.response_template)
        if reading is None:
            ended = super().is_reasoning_end(input_ids)
            return ended
        try:
            parser = _of_prompt(self.response_template, list(input_ids), reading)
        except backchat.ParseError:
            return False
        ended = theirs._reasoning_has_ended(parser, self.response_template, thinking_disabled=self._thinking_disabled)
        return ended


class ToolParser(theirs.ResponseTemplateToolParser):
    """Selects `ResponseTemplateParser`, which parses the calls."""

    @classmethod
    def unified_parser_cls(cls) -> type[ResponseTemplateParser]:
        """The parser that this one selects."""
        return ResponseTemplateParser


ResponseTemplateParser.reasoning_parser_cls = ReasoningParser
ResponseTemplateParser.tool_parser_cls = ToolParser
