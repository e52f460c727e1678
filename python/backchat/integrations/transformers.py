"""Backchat as a replacement for transformers' parser of response templates.

>>> import backchat.integrations.transformers as backchat_transformers
>>> backchat_transformers.patch()    # doctest: +SKIP

`python -m backchat.integrations.transformers serve MODEL` runs `transformers serve` with it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import backchat
from backchat.integrations._model import NotProved, chat_template_of, variables_of
from backchat.integrations._spec import spec_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "NotProved",
    "ResponseParser",
    "add_response_template",
    "main",
    "parse_response",
    "patch",
    "unpatch",
]

#: The first release of transformers with response templates.
FIRST = (5, 13)

#: The modules of transformers that contain the two names, and the names there.
PLACES = (
    ("transformers.utils.chat_parsing", "ResponseParser", "parse_response"),
    ("transformers.utils.chat_parsing.response_parser", "ResponseParser", "parse_response"),
    ("transformers.tokenization_utils_base", "ResponseParser", "_template_parse_response"),
)

#: The module with which `transformers serve` streams, and the function that makes its chunks.
SERVING = "transformers.cli.serving.utils"
CHUNKS = "response_events_to_chunks"

_mode: Literal["stable", "reference"] = "stable"
#: The recovery policies.
_recover: str | list[str] | None = None
#: Our replacements, each with the original.
_before: list[tuple[Any, Any]] = []


class ResponseParser(backchat.ResponseParser):
    """Backchat's parser with the signature of transformers', and the attributes that its callers use."""

    def __new__(cls, response_template: Any, prefix: str | None = None, *, tools: Any = None) -> Self:
        _bind_serving()
        return super().__new__(
            cls, spec_of(response_template), prefix, tools=tools, mode=_mode, errors="raise", recover=_recover
        )

    @property
    def _output(self) -> dict[str, Any]:
        return self.message


def parse_response(
    text: str, response_template: Any, *, prefix: str | None = None, tools: Any = None
) -> dict[str, Any]:
    """Parse a whole output."""
    spec = spec_of(response_template)
    return backchat.parse_response(text, spec, prefix=prefix, tools=tools, mode=_mode, recover=_recover)


def patch(mode: Literal["stable", "reference"] = "stable", *, recover: str | list[str] | None = None) -> None:
    """Replace the parser of transformers until `unpatch()`, for tokenizers, pipelines, `transformers serve` and TRL.

    In `stable` mode the answer does not depend on how the text is cut; in `reference` mode it is that of transformers.
    `recover` selects recovery policies, in stable mode.
    """
    global _mode, _recover
    if mode not in ("stable", "reference"):
        raise ValueError(f'`mode` is "stable" or "reference", not {mode!r}')
    if recover and mode == "reference":
        raise ValueError('`recover` needs `mode="stable"`')
    import transformers

    release = tuple(int(part) for part in transformers.__version__.split(".")[:2] if part.isdigit())
    if release < FIRST:
        raise ImportError(
            f"transformers {transformers.__version__} has no response templates; "
            f"install transformers>={FIRST[0]}.{FIRST[1]}"
        )
    import transformers.tokenization_utils_base
    import transformers.utils.chat_parsing

    _mode, _recover = mode, recover
    for module_name, parser, function in PLACES:
        for name, ours in ((parser, ResponseParser), (function, parse_response)):
            _bind(sys.modules.get(module_name), name, ours)
    _bind_serving()


def _bind(module: Any, name: str, ours: Any) -> None:
    theirs = getattr(module, name, ours)
    if theirs is not ours:
        if all(known is not ours for known, _ in _before):
            _before.append((ours, theirs))
        setattr(module, name, ours)


def _bind_serving() -> None:
    """Patch the module with which `transformers serve` streams, which may be imported after `patch()`."""
    serving = sys.modules.get(SERVING)
    chunks = getattr(serving, CHUNKS, None)
    if _before and chunks is not None and not hasattr(chunks, "__wrapped__"):
        _bind(serving, "ResponseParser", ResponseParser)
        _bind(serving, CHUNKS, _one_call_each(chunks))


def _one_call_each(chunks: Callable[[list[dict[str, Any]]], list[Any]]) -> Callable[[list[dict[str, Any]]], list[Any]]:
    """Wrap transformers' function, which expects one call per region, for regions with a list of calls."""

    @functools.wraps(chunks)
    def of(events: list[dict[str, Any]]) -> list[Any]:
        split: list[dict[str, Any]] = []
        for event in events:
            calls = event.get("value") if event["type"] == "region_close" and event["field"] == "tool_calls" else None
            split.extend([{**event, "value": call} for call in calls] if isinstance(calls, list) else [event])
        return chunks(split)

    return of


def unpatch() -> None:
    """Restore the originals, also in modules that were imported meanwhile."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in ("transformers", "trl"):
            continue
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            for ours, theirs in _before:
                if value is ours:
                    setattr(module, attribute, theirs)
    _before.clear()


def add_response_template(tokenizer: Any, *, derive: bool = True) -> Any:
    """Set the derived response template on a tokenizer that has none.

    Raises `NotProved` with the counterexamples if it is not proved.
    """
    if getattr(tokenizer, "response_template", None) is not None:
        return tokenizer
    if not derive:
        raise ValueError("the tokenizer has no response template")
    chat_template = chat_template_of(tokenizer)
    if chat_template is None:
        raise ValueError("the tokenizer has neither a response template nor a chat template to derive one from")
    derivation = backchat.derive(chat_template, variables=variables_of(tokenizer))
    if derivation.status != "proved":
        raise NotProved(derivation)
    tokenizer.response_template = derivation.response_template
    return tokenizer


def main() -> None:
    """Run the command `transformers` with Backchat's parser: `python -m backchat.integrations.transformers serve …`."""
    patch()
    from transformers.cli.transformers import main as run

    sys.argv[0] = "transformers"
    run()


if __name__ == "__main__":
    # Not this copy of the module, but the one that others import.
    import_module("backchat.integrations.transformers").main()
