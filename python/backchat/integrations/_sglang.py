"""The classes that SGLang instantiates if the parser `backchat` is selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sglang.srt.parser import response_template as theirs

import backchat
from backchat.integrations._model import chat_template_of, grammar_of, leave_out, prepare, variables_of
from backchat.integrations.sglang import ResponseParser

#: The reader that derived templates are written for.
TARGET = "sglang"

# SGLang's detectors create their parser by this name, and a process serves one model.
theirs.ResponseParser = ResponseParser


class ToolDetector(theirs.ResponseTemplateToolDetector):
    """SGLang's detector with Backchat's parser, and grammars in the model's own format."""

    # SGLang passes a detector only the parameters that its signature names.
    def __init__(
        self,
        tokenizer: Any = None,
        response_template: dict[str, Any] | None = None,
        prefix: str = "",
        tools: list[Any] | None = None,
        constrained: bool = False,
    ) -> None:
        if response_template is None:
            prepare(tokenizer, TARGET)
        super().__init__(tokenizer, response_template, prefix, tools, constrained)
        leave_out(tokenizer, self.response_template)
        self._tokenizer = tokenizer
        #: The name of a call whose arguments have not begun, and whether a call is sent as it grows.
        self._waiting: str | None = None
        self._call_grows = False
        self._is_cut_off = False
        #: How many calls of the open region have begun, and the first of them that is sent whole, at the end of the region.
        self._begun = 0
        self._whole_from: int | None = None

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> Any:
        """Parse a piece of text; return the new content and calls."""
        return self._emit_streaming_events(self._begin(tools) + self._adapter.feed(new_text, tools), tools)

    def finish(self, tools: list[Any]) -> Any:
        """End the text; return the new content and calls."""
        return self._emit_streaming_events(self._begin(tools) + self._adapter.finalize(tools), tools)

    def _begin(self, tools: list[Any]) -> list[dict[str, Any]]:
        """Give the adapter a parser that reports calls as they grow, unless SGLang transforms them itself."""
        if self._adapter._parser is not None or self._each_transform is not None:
            return []
        adapter: Any = self._adapter
        events: list[dict[str, Any]] = adapter._start(tools)
        parser: ResponseParser = adapter._parser.growing()
        adapter._parser = parser
        return events + [event for event in parser.initial_events if events and event["type"].startswith("call_")]

    def _emit_streaming_events(self, events: list[dict[str, Any]], tools: list[Any]) -> Any:
        if self._each_transform is not None:
            return super()._emit_streaming_events(events, tools)
        others = [event for event in events if event.get("field") != theirs._TOOL_FIELD]
        result = super()._emit_streaming_events(others, tools)
        for event in events:
            if event.get("field") == theirs._TOOL_FIELD:
                self._take(event, tools, result.calls)
        return result

    def _take(self, event: dict[str, Any], tools: list[Any], calls: list[Any]) -> None:
        match event["type"]:
            case "region_open":
                self._is_cut_off, self._begun, self._whole_from, self._waiting = False, 0, None, None
            case "problem":
                self._is_cut_off |= event["kind"] == "unclosed" and event.get("at_end", False)
            case "call_start":
                self._begun += 1
                if self._whole_from is None:
                    self._end_call()
                    is_known = event["name"] in self._get_tool_indices(tools)
                    is_sent = is_known or theirs.envs.SGLANG_FORWARD_UNKNOWN_TOOLS.get()
                    self._waiting = event["name"] if is_sent else None
            case "call_arguments" if self._whole_from is None and not self._is_cut_off:
                self._grow(event["delta"], calls)
            case "region_close" | "region_malformed":
                if self._is_cut_off or self._adapter._is_unusable_tool_end(event):
                    if self._call_grows:
                        # The client already has its beginning, so the call stays incomplete.
                        self._drop_streamed_tool_call()
                        self._call_grows = False
                elif self._whole_from is not None:
                    self._send_whole(event["value"], tools, calls)
                self._end_call()

    def _grow(self, more: str, calls: list[Any]) -> None:
        """Send more arguments of the call, and before the first its name: a call without arguments is not a call."""
        if self._waiting is not None:
            if not more.startswith("{"):
                # JSON text in a string, or another value: what it is shows at the end.
                self._whole_from = self._begun - 1
                return
            self._emit_tool_name(self._waiting, calls)
            self._waiting, self._call_grows = None, True
        if self._call_grows:
            calls.append(theirs.ToolCallItem(tool_index=self.current_tool_id, parameters=more))
            sent = self.streamed_args_for_tool[self.current_tool_id] + more
            self.streamed_args_for_tool[self.current_tool_id] = sent
            self.prev_tool_call_arr[self.current_tool_id]["arguments"] = sent

    def _send_whole(self, value: Any, tools: list[Any], calls: list[Any]) -> None:
        """Send the call that waits and those after it."""
        rest = (value if isinstance(value, list) else [value])[self._whole_from :]
        first = max(self.current_tool_id, 0)
        for item in self._to_tool_call_items(rest, self._get_tool_indices(tools), first):
            self._emit_tool_call(item, calls)

    def _end_call(self) -> None:
        """End the growing call, if there is one: it is complete."""
        if self._call_grows:
            self.incomplete_tool_call_indices.discard(self.current_tool_id)
            self.current_tool_id += 1
            self.current_tool_name_sent = False
            self._call_grows = False

    def supports_structural_tag(self) -> bool:
        """Whether forced calls keep the model's own format."""
        return True

    def get_structural_tag(
        self,
        tools: list[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
        message_start: bool = False,
    ) -> Any:
        """The structural tag of a request.

        With `thinking_mode` it starts with the reasoning; otherwise after it, because SGLang waits for its end.
        """
        from xgrammar import StructuralTag

        written = grammar_of(self._tokenizer, self.response_template).for_request(
            [tool.model_dump() for tool in tools or ()],
            tool_choice=tool_choice if isinstance(tool_choice, str) else tool_choice.model_dump(),
            parallel=None if parallel_tool_calls else False,
            prompt=self._prompt(after_reasoning=not thinking_mode and not message_start),
            reasoning="auto" if thinking_mode else "never",
            format="structural-tag",
        )
        return StructuralTag.model_validate(written["grammar"])

    def validate_structure_constraint_request(
        self,
        tool_choice: Any,
        parallel_tool_calls: bool,
        strict_requested: bool,
        *,
        tools: list[Any],
        thinking_mode: bool = False,
    ) -> Any:
        """The tag of a request that needs a grammar; raises `ValueError` if there is none."""
        if tool_choice == "auto" and parallel_tool_calls and not strict_requested:
            return None
        return self.get_structural_tag(tools, tool_choice, thinking_mode, parallel_tool_calls)

    def _prompt(self, *, after_reasoning: bool) -> str | None:
        """The prompt that a grammar continues, including the reasoning if the grammar starts after it.

        SGLang may constrain a request before it has the prompt; a short conversation then provides one.
        """
        chat_template = chat_template_of(self._tokenizer)
        prompt: str = self._prefix
        if not prompt and chat_template is not None:
            user = [{"role": "user", "content": "Hi"}]
            variables = variables_of(self._tokenizer)
            prompt = backchat.render(chat_template, user, add_generation_prompt=True, variables=variables).text
        thinking = self._thinking_field
        if not after_reasoning or thinking is None or not thinking.close_literals:
            return prompt or None
        parser = backchat.ResponseParser(self.response_template, prompt)
        of_reasoning = [event for event in parser.initial_events if event.get("field") == theirs._THINKING_FIELD]
        if any(event["type"] == "region_close" for event in of_reasoning):
            # The prompt has all of the reasoning, as where thinking is off.
            return prompt
        is_open = parser.current_field == theirs._THINKING_FIELD
        opener = "" if is_open else (thinking.open_literals or [""])[0]
        return f"{prompt}{opener}.{thinking.close_literals[0]}"


class ReasoningDetector(theirs.ResponseTemplateReasoningDetector):
    """SGLang's detector with Backchat's parser."""

    def __init__(
        self,
        stream_reasoning: bool = True,
        tokenizer: Any = None,
        response_template: dict[str, Any] | None = None,
        prefix: str = "",
        force_nonempty_content: bool = False,
        grammar_start: str | None = None,
        tools: Sequence[Any] | None = None,
        constrained: bool = False,
        **kwargs: Any,
    ) -> None:
        if response_template is None:
            prepare(tokenizer, TARGET)
        super().__init__(
            stream_reasoning,
            tokenizer,
            response_template,
            prefix,
            force_nonempty_content,
            grammar_start,
            tools,
            constrained,
            **kwargs,
        )
        leave_out(tokenizer, self.response_template)
