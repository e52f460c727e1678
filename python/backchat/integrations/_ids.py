"""Token ids together with a server's decoded text: the ids identify markers, the text shows where the output ends."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import backchat
from backchat._tokens import tokenizer_of
from backchat.integrations._served import ResponseParser
from backchat.integrations._spec import spec_of

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.getLogger("backchat")

#: The environment variable with the policy for ids, as in `--policy`.
POLICY = "BACKCHAT_POLICY"
POLICIES = ("exact", "either")

#: Why a tokenizer or a template is not used with ids: each reason is logged once.
_logged: set[str] = set()


class Reading(NamedTuple):
    """How ids are parsed."""

    tokenizer: backchat.Tokenizer
    policy: Literal["exact", "either"]


def policy() -> Literal["exact", "either"]:
    """The policy that `BACKCHAT_POLICY` names; `exact` if it names none."""
    named = os.environ.get(POLICY) or "exact"
    if named not in POLICIES:
        raise ValueError(f'{POLICY} is "exact" or "either", not {named!r}')
    return "either" if named == "either" else "exact"


def reading_of(tokenizer: Any, template: Any) -> Reading | None:
    """How to parse the ids of a server's tokenizer; `None` if only text can be parsed, which is logged."""
    asked = policy()
    if not hasattr(getattr(tokenizer, "backend_tokenizer", None), "to_str"):
        return None
    try:
        known = tokenizer_of(tokenizer)
        backchat.ResponseParser(spec_of(template), "", tokenizer=known, policy=asked)
    except ValueError as error:
        if str(error) not in _logged:
            _logged.add(str(error))
            logger.warning("token ids are not used, only their text: %s", error)
        return None
    return Reading(known, asked)


class IdsParser(ResponseParser):
    """A parser of ids for servers that feed text.

    `feed` gets the server's text for ids that were passed to `take` before: an id is parsed once its text has arrived.
    Ids that a stop string cut off are never parsed, and a stop token that the server leaves out of the text is parsed
    at the end. Text that no id explains is parsed as text after the last id.
    """

    _ids: deque[int]
    _stops: frozenset[int]
    #: The server's text, the position up to which ids were parsed, and whether it matches Backchat's decoding so far.
    _text: str
    _read: int
    _agrees: bool
    _is_settled: bool
    #: Whether no more ids come.
    is_last: bool

    def __new__(
        cls, template: Any, prompt: str | Sequence[int], reading: Reading, stop_ids: Collection[int], **options: Any
    ) -> Self:
        tokenizer, policy = reading
        parser = super().__new__(
            cls, template, prompt, tokenizer=tokenizer, policy=policy, stop_ids=list(stop_ids), **options
        )
        parser._ids, parser._stops = deque(), frozenset(stop_ids)
        parser._text, parser._read, parser._agrees = "", 0, True
        parser._is_settled = parser.is_last = False
        return parser

    def take(self, ids: Iterable[int]) -> None:
        """Queue ids whose text will be passed to `feed`."""
        self._ids.extend(ids)

    def feed(self, text: str) -> list[dict[str, Any]]:
        """Parse the ids that the server's next text covers; return their events."""
        if self._is_settled:
            return super().feed(text)
        self._text = self._text[self._read :] + text if self._agrees else ""
        self._read = 0
        events: list[dict[str, Any]] = []
        while self._ids and self._covers(self._text_of(self._ids[0])):
            events += self.feed_tokens([self._ids.popleft()])
        return events + self._settle() if self.is_last else events

    def _covers(self, text: str) -> bool:
        """Whether the server's text continues with the text of an id; skips that text if so."""
        if not self._agrees:
            return True
        # Some tokenizers decode a space after a marker that encoding had added.
        for expected in (text, f" {text}"):
            found = self._text[self._read : self._read + len(expected)]
            if found == expected:
                self._read += len(expected)
                return True
            if expected.startswith(found):
                return False
        # Incomplete characters may be decoded differently. From here on, only the ids count.
        self._agrees = False
        return True

    def _settle(self) -> list[dict[str, Any]]:
        self._is_settled = True
        rest = self._text[self._read :] if self._agrees else ""
        events = super().feed(rest) if rest else []
        if self._ids and not rest and self._ids[0] in self._stops:
            events += self.feed_tokens([self._ids[0]])
        self._ids.clear()
        return events
