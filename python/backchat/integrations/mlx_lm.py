"""mlx-lm's server with Backchat's parser: `python -m backchat.integrations.mlx_lm --model MODEL`.

`mlx_lm.server` recognizes a fixed list of formats. With this adapter it parses chat answers with the model's response
template, or with the draft derived from its chat template if the draft is proved.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mlx_lm import server
from mlx_lm.generate import TextStateMachine

import backchat
from backchat._stream import Chunks
from backchat.integrations._model import prepare, recover_of, template_of
from backchat.integrations._release import require

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["main", "patch"]

#: The first release whose server has the interfaces that are wrapped here.
OLDEST = (0, 32)

require("mlx-lm", OLDEST)

logger = logging.getLogger("backchat")

#: The states that mlx-lm's server knows: what it sends as content, as reasoning, and to the parser of calls.
CONTENT, THOUGHT, CALL = "normal", "reasoning", "tool"


class _Parsed(str):
    """The text of one step, split into pairs of a state and a text."""

    segments: list[tuple[str, str]]

    def __new__(cls, text: str, segments: list[tuple[str, str]]) -> Self:
        made = super().__new__(cls, text)
        made.segments = segments
        return made


class _Segments(TextStateMachine):
    """mlx-lm's state machine. It returns the segments of parsed text unchanged."""

    @staticmethod
    def split(state: Any, text: str) -> Any:
        if not isinstance(text, _Parsed):
            return TextStateMachine.split(state, text)
        # The server asks for the state after the last segment, so there is always one.
        return state, [*text.segments, (CONTENT, "")]


class _Answer:
    """The parser of one answer: text in, segments out."""

    def __init__(self, template: dict[str, Any], prompt: str, tools: Any) -> None:
        self._parser = backchat.ResponseParser(template, prompt, tools=tools, recover=recover_of(template))
        self._ending: str | None = None
        # `Chunks` decides, for all servers, what happens to broken calls and to calls that were cut off.
        self._chunks = Chunks("", None, lambda: self._ending, new_id=lambda _: str(uuid.uuid4()))
        self._begun = self._parser.initial_events

    def feed(self, text: str) -> list[tuple[str, str]]:
        begun, self._begun = self._begun, []
        return self._segments([*begun, *self._parser.feed(text)])

    def finish(self, ending: str) -> list[tuple[str, str]]:
        self._ending = ending
        found = self._segments(self._parser.finalize()[1])
        return found + [segment for chunk in self._chunks.broken() for segment in _segments_of(chunk)]

    def _segments(self, events: list[dict[str, Any]]) -> list[tuple[str, str]]:
        chunks = (chunk for event in events for chunk in self._chunks.of(event))
        return [segment for chunk in chunks for segment in _segments_of(chunk)]


def _segments_of(chunk: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, more in chunk["choices"][0]["delta"].items():
        if name == "tool_calls":
            for call in more:
                yield CALL, json.dumps(_call(call))
                # The server takes a call once its state is left.
                yield CONTENT, ""
        else:
            # Some formats have a name of their own for reasoning.
            yield CONTENT if name == "content" else THOUGHT, more


def _call(call: dict[str, Any]) -> dict[str, Any]:
    """A call in the form that mlx-lm's own parsers return."""
    arguments = call["function"]["arguments"]
    with contextlib.suppress(ValueError):
        arguments = json.loads(arguments)
    return {"id": call["id"], "name": call["function"]["name"], "arguments": arguments}


def _read_call(text: str, tools: Any) -> Any:
    """Replaces mlx-lm's parser of calls: `text` is a parsed call."""
    return json.loads(text)


def _answered(response: Any, stops: TextStateMachine, answer: _Answer) -> Iterator[Any]:
    """Parse the texts of a generation's steps.

    The server ignores the text of the final step if the model stopped, but the last events arrive only then. So each step
    is held until the next one arrives, and the last events are sent with the step before the final one.
    """
    state, waiting = stops.make_state(CONTENT), None
    for step in response:
        ending = step.finish_reason
        text = ""
        # The step that stops holds the stop token, or the end of a stop word.
        if ending != "stop":
            state, segments = TextStateMachine.split(state, step.text)
            text = "".join(part for _, part in segments)
        if ending == "length":
            state, rest, _ = TextStateMachine.flush(state)
            text += rest
        found = answer.feed(text)
        if ending is not None:
            found += answer.finish(ending)
        if ending == "stop" and waiting is not None:
            waiting.text.segments.extend(found)
        if waiting is not None:
            yield waiting
        waiting = dataclasses.replace(step, text=_Parsed(text, found))
    if waiting is not None:
        yield waiting


def _template(tokenizer: Any) -> dict[str, Any] | None:
    """A model's response template, stored or derived; `None` if there is none and no draft is proved."""
    if getattr(tokenizer, "has_no_response_template", False):
        return None
    try:
        prepare(tokenizer, "transformers")
    except ValueError as error:
        logger.warning("mlx-lm's own parser reads this model's answers: %s", error)
        tokenizer.has_no_response_template = True
    return template_of(tokenizer)


def _reasons(template: dict[str, Any] | None) -> bool:
    return template is not None and not {"content", "tool_calls"}.issuperset(template["fields"])


_tokenize = server.ResponseGenerator._tokenize
_make_state_machine = server.ResponseGenerator._make_state_machine
_generate = server.ResponseGenerator.generate


def _tokenize_thinking(self: Any, tokenizer: Any, request: Any, args: Any) -> Any:
    """Enable thinking for models that reason: mlx-lm disables it if it does not recognize their markers."""
    asked = {**self.model_provider.cli_args.chat_template_args, **(args.chat_template_kwargs or {})}
    is_silent = request.request_type == "chat" and not asked.keys() & {"enable_thinking", tokenizer._thinking_kwarg}
    if is_silent and not tokenizer.has_thinking and _reasons(_template(tokenizer)):
        args.chat_template_kwargs = {"enable_thinking": True, **(args.chat_template_kwargs or {})}
    return _tokenize(self, tokenizer, request, args)


def _make_state_machine_for_answers(self: Any, model_key: Any, tokenizer: Any, stop_words: Any) -> Any:
    stop_sequences, machine = _make_state_machine(self, model_key, tokenizer, stop_words)
    stops = {CONTENT: [(word, CONTENT) for word in stop_words]} if stop_words else None
    machine.tokenizer, machine.stops = tokenizer, TextStateMachine(stops)
    return stop_sequences, machine


def _generate_parsed(self: Any, request: Any, *args: Any, **options: Any) -> Any:
    context, response = _generate(self, request, *args, **options)
    machine = context.text_sm
    template = _template(machine.tokenizer) if request.request_type == "chat" else None
    if template is None:
        return context, response
    answer = _Answer(template, machine.tokenizer.decode(context.prompt), request.tools)
    context.text_sm, context.initial_state, context.tool_parser = TextStateMachine(), CONTENT, _read_call
    return context, _answered(response, machine.stops, answer)


def patch() -> None:
    """Make mlx-lm's server parse chat answers with response templates."""
    server.TextStateMachine = _Segments
    server.ResponseGenerator._tokenize = _tokenize_thinking
    server.ResponseGenerator._make_state_machine = _make_state_machine_for_answers
    server.ResponseGenerator.generate = _generate_parsed


def main() -> None:
    """`mlx_lm.server`, with its options."""
    patch()
    server.main()


if __name__ == "__main__":
    main()
