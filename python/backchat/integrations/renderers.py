"""A renderer for Prime Intellect's `renderers`, for any model with a chat template.

>>> config = CustomRendererConfig(import_path="backchat.integrations.renderers.Renderer")    # doctest: +SKIP
>>> renderer = create_renderer(tokenizer, config)    # doctest: +SKIP

Whatever else the configuration has are variables of the chat template.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import ConfigDict
from renderers.base import (
    ParsedResponse,
    ParsedToolCall,
    RenderedTokens,
    ToolCallParseStatus,
    extract_message_tool_names,
    introduces_user_query,
    reject_assistant_in_extension,
    should_rerender_for_thinking_retention,
)
from renderers.configs import BaseRendererConfig

import backchat
from backchat.integrations._model import NotProved, chat_template_of, template_of, variables_of

#: The names that a draft may give to reasoning.
REASONING = ("reasoning_content", "reasoning", "thinking")


class RendererConfig(BaseRendererConfig):
    """The configuration: a chat template and a response template in place of the tokenizer's own."""

    model_config = ConfigDict(frozen=True, extra="allow")

    chat_template: str | None = None
    response_template: dict[str, Any] | None = None

    _internal_fields = frozenset({"chat_template", "response_template"})
    _allow_opaque_template_kwargs = True


class Renderer:
    """Renders with the model's chat template, and reads its turns with its response template or the derived one."""

    config_class: ClassVar[type[BaseRendererConfig]] = RendererConfig

    def __init__(self, tokenizer: Any, config: RendererConfig | None = None) -> None:
        self.config = config or RendererConfig()
        chat_template = self.config.chat_template or chat_template_of(tokenizer)
        if chat_template is None:
            raise ValueError("the tokenizer has no chat template: set `chat_template` in the renderer's configuration")
        self._chat_template = chat_template
        self._tokenizer = tokenizer
        self._variables = {**variables_of(tokenizer), **(self.config.model_extra or {})}
        # The derivation also tells where a turn ends.
        derivation = backchat.derive(chat_template, variables=self._variables)
        template = self.config.response_template or template_of(tokenizer)
        if template is None:
            if derivation.status != "proved" or derivation.response_template is None:
                raise NotProved(derivation)
            template = derivation.response_template
        self._template = backchat.Template(template)
        self._ids = backchat.Tokenizer(tokenizer.backend_tokenizer.to_str())
        self._bridge = backchat.Bridge(chat_template, self._ids, self._template, variables=self._variables)
        turn = (derivation.report.get("findings") or {}).get("turn") or {}
        self._stop_texts = [stop.strip() for stop in turn.get("stops") or [] if stop.strip()]
        self._stops = self._stop_ids()
        self._facts = backchat.doctor(chat_template, variables=self._variables)["capabilities"]
        calls = template["fields"].get("tool_calls") or {}
        #: What the name of a call is made of.
        self._name = ((calls.get("transform") or {}).get("function") or {}).get("name")
        self._calls_have_closers = self._closes_calls()

    def _stop_ids(self) -> list[int]:
        ids = [self._ids.encode(stop) for stop in self._stop_texts]
        stops = [only[0] for only in ids if len(only) == 1]
        eos = self._tokenizer.eos_token_id
        return list(dict.fromkeys([*stops, *([] if eos is None else [eos])]))

    def _closes_calls(self) -> bool:
        """Whether the format has a mark that closes a call, so that one that ends with the turn alone is incomplete."""
        question = {"role": "user", "content": "Hi"}
        call = {"type": "function", "id": "call00000", "function": {"name": "look", "arguments": {"at": "it"}}}
        said = {"role": "assistant", "content": "", "tool_calls": [call]}
        try:
            prompt, text = self._text([question], None, True), self._text([question, said], None, False)
        except ValueError:
            return False
        # The prompt may begin reasoning that a rendered turn does not have.
        shared = os.path.commonprefix([prompt, text])
        parser = backchat.ResponseParser(self._template, shared, spans=True)
        events = [*parser.feed(text.removeprefix(shared)), *parser.finalize()[1]]
        ends = [event for event in events if event["type"] == "region_close" and event["field"] == "tool_calls"]
        return any(self._closer(parser.input_text, event) for event in ends)

    def _closer(self, text: str, event: dict[str, Any]) -> str:
        """What closes a region, without the marks that end the turn."""
        closer = text[event["start"] : event["end"]].strip()
        return closer.removesuffix(next((stop for stop in self._stop_texts if closer.endswith(stop)), ""))

    @property
    def is_prefix_stable(self) -> bool:
        """Whether another message never changes the ids before it, as `backchat doctor` finds."""
        return all(self._facts.get(f"prefix_{kind}") is not False for kind in ("chat", "reasoning", "tool"))

    @property
    def supports_tools(self) -> bool:
        """Whether the chat template shows tools."""
        return bool(self._facts.get("tools") == "rendered")

    def get_stop_token_ids(self) -> list[int]:
        """The ids that end a turn: the marks that are one token, and the tokenizer's own."""
        return list(self._stops)

    def render_ids(
        self, messages: Sequence[Any], *, tools: Sequence[Any] | None = None, add_generation_prompt: bool = False
    ) -> list[int]:
        """The ids of a conversation."""
        return self._ids.encode(self._text(messages, tools, add_generation_prompt))

    def render(
        self, messages: Sequence[Any], *, tools: Sequence[Any] | None = None, add_generation_prompt: bool = False
    ) -> RenderedTokens:
        """The ids of a conversation, each with its message, and whether the model wrote it."""
        text = self._text(messages, tools, add_generation_prompt)
        ids = self._ids.encode(text)
        spans = self._spans(ids, text)
        owners, contents = self._owners(messages, tools, text)
        masked = backchat.mask(self._chat_template, messages, tools=tools, variables=self._variables)
        written = [False] * len(text)
        for start, end in masked.spans:
            written[start:end] = [True] * (end - start)
        own = None if masked.problems else [_covers(written, span) for span in spans]
        # The history may be written otherwise than the same messages alone: what the model wrote is known.
        for part in masked.parts:
            owners[part["start"] : part["end"]] = [part["message"]] * (part["end"] - part["start"])
        indices = [_owner(owners, span) for span in spans]
        inside = None if contents is None or own is None else [_covers(contents, span) for span in spans]
        roles = [message.get("role") or "" for message in messages]
        return RenderedTokens(
            token_ids=ids,
            message_indices=indices,
            sampled_mask=own or [],
            is_content=[]
            if inside is None or own is None
            else [mine or (bit and roles[at] != "assistant") for mine, bit, at in zip(own, inside, indices)],
            message_roles=roles,
            message_tool_names=extract_message_tool_names(list(messages)),
        )

    def parse_response(
        self, token_ids: list[int], *, tools: Sequence[Any] | None = None, prompt_ids: list[int] | None = None
    ) -> ParsedResponse:
        """The message that the model sampled, with every call that it attempted."""
        parser = backchat.ResponseParser(
            self._template,
            list(prompt_ids or []),
            tools=tools,
            tokenizer=self._ids,
            stop_ids=self._stops,
            spans=True,
        )
        start = len(parser.input_text)
        events, ends = [*parser.initial_events], []
        for token in token_ids:
            events += parser.feed_tokens([token])
            ends.append(len(parser.input_text) - start)
        open_field = parser.current_field
        message, last = parser.finalize()
        text = parser.input_text
        # The spans are those of ids before the one that ends the turn.
        kept = next((at for at, token in enumerate(token_ids) if token in self._stops), len(token_ids))
        calls: list[ParsedToolCall] = []
        opened = start
        for event in [*events, *last]:
            if event.get("field") != "tool_calls":
                continue
            if event["type"] == "region_open":
                opened = event["start"]
            if event["type"] not in ("region_close", "region_malformed"):
                continue
            first, end = _tokens(ends, opened - start, event["end"] - start)
            span = (first, min(end, kept))
            if event["type"] == "region_malformed":
                is_cut = open_field == "tool_calls" and event["end"] >= len(text)
                status = ToolCallParseStatus.UNCLOSED_BLOCK if is_cut else self._fault(event["reason"])
                calls.append(ParsedToolCall(raw=event["raw"], token_span=span, status=status))
            elif self._calls_have_closers and not self._closer(text, event):
                status, raw = ToolCallParseStatus.UNCLOSED_BLOCK, text[opened : event["start"]]
                calls.append(ParsedToolCall(raw=raw, token_span=span, status=status))
            else:
                raw = text[opened : event["end"]]
                calls += [_call(raw, span, call, tools) for call in _listed(event["value"])]
        reasoning = next((message[name] for name in REASONING if message.get(name)), None)
        return ParsedResponse(
            content=message.get("content") or "",
            reasoning_content=reasoning,
            tool_calls=calls,
            reasoning_complete=open_field not in REASONING,
        )

    def _fault(self, reason: str) -> ToolCallParseStatus:
        """What is wrong with a call that is closed."""
        if reason.startswith("not JSON"):
            return ToolCallParseStatus.INVALID_JSON
        if self._name is not None and self._name in reason:
            return ToolCallParseStatus.MISSING_NAME
        return ToolCallParseStatus.MALFORMED_STRUCTURE

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: list[int],
        previous_completion_ids: list[int],
        new_messages: Sequence[Any],
        *,
        tools: Sequence[Any] | None = None,
    ) -> RenderedTokens | None:
        """What the next turn adds to the ids so far; `None` if it cannot be proved, or `thinking_retention` forbids it.

        The history is read back from the prompt, and rendered again to prove it. Without `thinking_retention`, a question of
        the user is not bridged where the template writes the history otherwise, such as without its reasoning.
        """
        kept = self.config.thinking_retention
        news = list(new_messages)
        if reject_assistant_in_extension(news) or (kept and should_rerender_for_thinking_retention(kept, news)):
            return None
        try:
            prompt = self._ids.decode(list(previous_prompt_ids))
            chat = backchat.unrender(self._chat_template, prompt, variables=self._variables)
            if not chat.exact:
                return None
            tools = tools if tools is not None else chat.tools
            bridged = self._bridge.next(
                chat.messages,
                previous_prompt_ids,
                previous_completion_ids,
                news,
                tools=tools,
                stop_ids=self._stops,
                # Within a tool loop the sampled ids are worth more than how the template would write them.
                edits="refuse" if kept is None and introduces_user_query(news) else "report",
            )
        except ValueError:
            return None
        before = [*previous_prompt_ids, *previous_completion_ids]
        history = [*chat.messages, bridged.message]
        indices, inside = self._attributed(bridged, history, news, tools)
        return RenderedTokens(
            token_ids=[*before, *bridged.ids],
            message_indices=[-1] * len(before) + indices,
            sampled_mask=[False] * (len(before) + len(bridged.ids)),
            is_content=[] if inside is None else [False] * len(before) + inside,
            message_roles=[message.get("role") or "" for message in news],
            message_tool_names=extract_message_tool_names(news),
        )

    def _attributed(
        self, bridged: backchat.Bridged, history: list[Any], news: list[Any], tools: Sequence[Any] | None
    ) -> tuple[list[int], list[bool] | None]:
        """The new message of each id that a bridge appends, and whether the id is of its content."""
        text = self._text([*history, *news], tools, True)
        spans = self._spans(bridged.ids, bridged.text)
        if not text.endswith(bridged.text):
            return [-1] * len(bridged.ids), None
        owners, contents = self._owners([*history, *news], tools, text)
        cut = len(text) - len(bridged.text)
        moved = [(start + cut, end + cut) for start, end in spans]
        indices = [max(_owner(owners, span) - len(history), -1) for span in moved]
        inside = None if contents is None else [at >= 0 and _covers(contents, span) for at, span in zip(indices, moved)]
        return indices, inside

    def _text(self, messages: Sequence[Any], tools: Sequence[Any] | None, prompt: bool) -> str:
        rendered = backchat.render(
            self._chat_template, messages, tools=tools, add_generation_prompt=prompt, variables=self._variables
        )
        return rendered.text

    def _owners(
        self, messages: Sequence[Any], tools: Sequence[Any] | None, text: str
    ) -> tuple[list[int], list[bool] | None]:
        """The message of each character of a render, -1 for none, and the characters that are contents, if all are found.

        A message begins where the render of those before it ends. A template that refuses these, or that writes them
        otherwise, leaves the text to the next message.
        """
        owners = [-1] * len(text)
        contents: list[bool] | None = [False] * len(text)
        start = 0
        for at, message in enumerate(messages):
            try:
                part = self._text(messages[: at + 1], tools, False)
            except ValueError:
                continue
            end = next((i for i, (one, other) in enumerate(zip(part, text)) if one != other), min(len(part), len(text)))
            if end <= start:
                continue
            owners[start:end] = [at] * (end - start)
            place = start
            # What the model wrote is masked, not sought.
            sought = [] if message.get("role") == "assistant" else _texts(message.get("content"))
            for piece in sought:
                found = text.find(piece, place, end)
                if found < 0:
                    contents = None
                elif contents is not None:
                    contents[found : found + len(piece)] = [True] * len(piece)
                    place = found + len(piece)
            start = end
        return owners, contents

    def _spans(self, ids: Sequence[int], text: str) -> list[tuple[int, int]]:
        """The characters of each id. Ids that share a character have the same span."""
        spans: list[tuple[int, int]] = []
        start, waiting = 0, []
        for token in ids:
            waiting.append(token)
            piece = self._ids.decode(waiting)
            if text.startswith(piece, start):
                spans += [(start, start + len(piece))] * len(waiting)
                start, waiting = start + len(piece), []
        return spans + [(start, len(text))] * len(waiting)


def _texts(content: Any) -> list[str]:
    """The texts of a content without the white space that templates trim."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def _owner(owners: list[int], span: tuple[int, int]) -> int:
    """The message of an id: that of its first character with one."""
    start, end = span
    return next((owner for owner in owners[start : max(end, start + 1)] if owner >= 0), -1)


def _covers(contents: list[bool], span: tuple[int, int]) -> bool:
    start, end = span
    return any(contents[start:end])


def _tokens(ends: list[int], start: int, end: int) -> tuple[int, int]:
    """The ids of a span of characters, by the characters after each id."""
    first = next((at for at, reached in enumerate(ends) if reached > start), len(ends))
    last = next((at for at, reached in enumerate(ends) if reached >= end), len(ends) - 1)
    return first, last + 1


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _call(raw: str, span: tuple[int, int], call: Any, tools: Sequence[Any] | None) -> ParsedToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return ParsedToolCall(raw=raw, token_span=span, status=ToolCallParseStatus.MISSING_NAME)
    known = {(tool.get("function") or tool).get("name") for tool in tools or [] if isinstance(tool, dict)}
    is_known = not known or function["name"] in known
    return ParsedToolCall(
        raw=raw,
        name=function["name"],
        arguments=function.get("arguments"),
        token_span=span,
        status=ToolCallParseStatus.OK if is_known else ToolCallParseStatus.UNKNOWN_TOOL,
        id=call.get("id"),
    )
