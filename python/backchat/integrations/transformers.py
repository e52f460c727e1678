"""Backchat in the place of transformers' parser of response templates.

>>> import backchat.integrations.transformers as backchat_transformers
>>> backchat_transformers.patch()    # doctest: +SKIP
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import backchat
from backchat.integrations._model import NotProved, chat_template_of, variables_of
from backchat.integrations._spec import spec_of

if TYPE_CHECKING:
    from typing_extensions import Self

#: The first release of transformers with response templates.
FIRST = (5, 13)

#: Where transformers keeps the two names, each under its own.
PLACES = (
    ("transformers.utils.chat_parsing", "ResponseParser", "parse_response"),
    ("transformers.utils.chat_parsing.response_parser", "ResponseParser", "parse_response"),
    ("transformers.tokenization_utils_base", "ResponseParser", "_template_parse_response"),
    ("transformers.cli.serving.utils", "ResponseParser", None),
)

_mode: Literal["stable", "reference"] = "stable"
_before: dict[tuple[str, str], Any] = {}


class ResponseParser(backchat.ResponseParser):
    """Backchat's parser with the signature of transformers', and what its callers reach for."""

    def __new__(cls, response_template: Any, prefix: str | None = None, *, tools: Any = None) -> Self:
        return super().__new__(cls, spec_of(response_template), prefix, tools=tools, mode=_mode, errors="raise")

    @property
    def _output(self) -> dict[str, Any]:
        return self.message


def parse_response(
    text: str, response_template: Any, *, prefix: str | None = None, tools: Any = None
) -> dict[str, Any]:
    """Read a whole output."""
    return backchat.parse_response(text, spec_of(response_template), prefix=prefix, tools=tools, mode=_mode)


def patch(mode: Literal["stable", "reference"] = "stable") -> None:
    """Let Backchat answer for transformers, until `unpatch()`: tokenizers, pipelines, `transformers serve` and TRL.

    `stable` gives one answer however a text is cut; `reference` answers as transformers does, cut by cut.
    """
    global _mode
    if mode not in ("stable", "reference"):
        raise ValueError(f'`mode` is "stable" or "reference", not {mode!r}')
    import transformers

    release = tuple(int(part) for part in transformers.__version__.split(".")[:2] if part.isdigit())
    if release < FIRST:
        raise ImportError(
            f"transformers {transformers.__version__} has no response templates; "
            f"install transformers>={FIRST[0]}.{FIRST[1]}"
        )
    import transformers.tokenization_utils_base
    import transformers.utils.chat_parsing

    _mode = mode
    for module_name, parser, function in PLACES:
        module = sys.modules.get(module_name)
        for name, ours in ((parser, ResponseParser), (function, parse_response)):
            if module is not None and name is not None and hasattr(module, name):
                _before.setdefault((module_name, name), getattr(module, name))
                setattr(module, name, ours)


def unpatch() -> None:
    """Put everything back."""
    while _before:
        (module_name, name), before = _before.popitem()
        module = sys.modules.get(module_name)
        if module is not None:
            setattr(module, name, before)


def add_response_template(tokenizer: Any, *, derive: bool = True) -> Any:
    """Give a tokenizer a response template where it has none: the derived one, if it is proved.

    Raises `NotProved` with the counterexamples if it is not.
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
