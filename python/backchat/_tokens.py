"""Tokenizers of other libraries, and the token ids between a model's turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from backchat import _backchat
from backchat._backchat import Tokenizer

#: Converted tokenizers of other libraries, with what may change later: their size and control tokens, and the flags of
#: their added tokens if they are known.
_KNOWN: WeakKeyDictionary[Any, tuple[tuple[int, list[str] | None], dict[int, Any] | None, Tokenizer]] = (
    WeakKeyDictionary()
)


def tokenizer_of(given: Any, encodes: bool = False) -> Tokenizer:
    """Convert a file, a folder, a fast tokenizer of transformers, or one of tokenizers to a `Tokenizer`.

    It is converted again if it changed. The flags of added tokens are compared only if it `encodes`: nothing else needs
    them, and reading thousands of them takes milliseconds.
    """
    if isinstance(given, Tokenizer):
        return given
    backend = getattr(given, "backend_tokenizer", given)
    if not hasattr(backend, "to_str"):
        return Tokenizer(given)
    listed = getattr(given, "chat_control_tokens", None)
    state = (backend.get_vocab_size(with_added_tokens=True), None if listed is None else list(listed))
    flags = backend.get_added_tokens_decoder() if encodes else None
    known = _KNOWN.get(given)
    if known is None or known[0] != state or (encodes and known[1] != flags):
        known = (state, flags, Tokenizer(backend.to_str(), chat_control_tokens=state[1]))
        _KNOWN[given] = known
    return known[2]


class Refused(ValueError):
    """Nothing is appended, because it could not be proved. `kind` is as in `backchat bridge`."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind = kind
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


class Bridged(NamedTuple):
    """The ids to append after a sample, their text, and where the template would write the history differently."""

    ids: list[int]
    text: str
    exact: bool
    edits: list[dict[str, Any]]
    closed: bool
    message: dict[str, Any]


class Bridge(_backchat.Bridge):
    """Continues sampled ids with new messages, without changing a sampled id. Make one per model.

    The ids come from the chat template's render of all messages: no part of it is encoded alone.
    """

    def next(
        self,
        messages: Sequence[Any],
        prompt_ids: Sequence[int],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Any],
        *,
        tools: Sequence[Any] | None = None,
        stop_ids: Sequence[int] = (),
        edits: str = "report",
    ) -> Bridged:
        """Return the ids between a sample and the place where the model continues; raises `Refused`.

        `edits="refuse"` refuses a history that the template would write differently.
        """
        answer = self._next(
            messages,
            list(prompt_ids),
            list(sampled_ids),
            new_messages,
            tools=tools,
            stop_ids=list(stop_ids),
            edits=edits,
        )
        if refused := answer.get("refused"):
            raise Refused(**refused)
        answer["ids"] = answer.pop("append_ids")
        return Bridged(**answer)
