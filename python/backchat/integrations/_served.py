"""What the plug-ins of servers share: a parser in their contract, and a template for models that have none."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import backchat
from backchat.integrations._spec import spec_of
from backchat.integrations.transformers import NotProved

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.getLogger("backchat")


class ResponseParser(backchat.ResponseParser):
    """Backchat's parser in the servers' contract of events.

    Events have spans, in characters of `input_text`, opens the captures of their delimiter, and a region that gives no
    value ends in `region_malformed` with the `error`. No chunk holds a piece of the prompt.
    """

    initial_events: list[dict[str, Any]]

    def __new__(
        cls,
        response_template: Any,
        prefix: str | None = None,
        *,
        tools: Any = None,
        constrained: bool = False,
    ) -> Self:
        parser = super().__new__(
            cls,
            spec_of(response_template),
            prefix,
            tools=tools,
            spans=True,
            closers_in_strings="text" if constrained else "ends",
        )
        _with_errors(parser.initial_events)
        return parser

    def feed(self, text: str) -> list[dict[str, Any]]:
        """Take the next piece of the model's text; give what happened in it."""
        return _with_errors(super().feed(text))

    def finalize(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """End the message: give it and the last events."""
        message, events = super().finalize()
        return message, _with_errors(events)


def _with_errors(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for event in events:
        if event["type"] == "region_malformed":
            del event["text"]
            event["error"] = backchat.ParseError(f"field `{event['field']}`: {event.pop('reason')}")
    return events


def template_for(tokenizer: Any) -> dict[str, Any]:
    """The response template derived from a tokenizer's chat template, where it is proved."""
    chat_template = getattr(tokenizer, "chat_template", None)
    if not isinstance(chat_template, str):
        raise ValueError("the model has neither a response template nor a chat template to derive one from")  # noqa: TRY004
    tokens = getattr(tokenizer, "special_tokens_map", None) or {}
    variables = {name: token for name, token in tokens.items() if isinstance(token, str)}
    derivation = backchat.derive(chat_template, variables=variables, reasoning_field="thinking")
    if derivation.status != "proved" or derivation.response_template is None:
        raise NotProved(derivation)
    logger.warning(
        "the model has no response template; serving with the one derived from its chat template, "
        "which brings %d of %d conversations back",
        derivation.proved,
        derivation.total,
    )
    return derivation.response_template
