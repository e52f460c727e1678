"""What the functions of `backchat` give and raise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Diagnostic(NamedTuple):
    """A problem, or a note: what is wrong, where, and what to do."""

    id: str
    severity: str
    message: str
    file: str | None
    path: str | None
    line: int | None
    column: int | None
    help: str | None

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.path, self.message) if part)


class TemplateError(ValueError):
    """A template does not load, or what was named cannot be read. `diagnostics` has every problem at once."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


class ParseError(ValueError):
    """An output, or a region of it, gives no value."""

    row: int

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownKey(ParseError, KeyError):
    """A transform names something that is not there; transformers raises `KeyError`."""


class Held(NamedTuple):
    """What a parser keeps back: the text, where it begins (in characters, with `spans=True`), and what it may become."""

    text: str
    start: int | None
    pending: list[dict[str, Any]]


class Message(dict[str, Any]):
    """The message of one output. `problems` has what went wrong in the text, such as a call that its end cut off."""

    problems: Sequence[dict[str, Any]] = ()


class BatchResult(list[Any]):
    """The rows of a batch in order, with `None` where a row could not be read and the reason in `errors`.

    `problems` has what went wrong in a row that was read, such as a call that the end of the text cut off.
    """

    def __init__(
        self, rows: list[Any], errors: dict[int, ParseError], problems: dict[int, list[dict[str, Any]]]
    ) -> None:
        super().__init__(rows)
        self.errors = errors
        self.problems = problems


class Derivation(NamedTuple):
    """What a derivation came to."""

    status: str
    response_template: dict[str, Any] | None
    proved: int
    total: int
    failures: list[dict[str, Any]]
    readers: list[dict[str, Any]]
    diagnostics: list[dict[str, Any]]
    evidence: str
    report: dict[str, Any]


class Proof(NamedTuple):
    """What the proof of a response template came to."""

    status: str
    proved: int
    total: int
    failures: list[dict[str, Any]]
    report: dict[str, Any]


class Rendered(NamedTuple):
    """A rendered conversation, and the spans of it, in characters, that generation blocks mark."""

    text: str
    assistant_spans: list[tuple[int, int]]


class Masked(NamedTuple):
    """A rendered conversation, the spans that count, in characters, and a mask of tokens if they are known."""

    text: str
    spans: list[tuple[int, int]]
    mask: list[int] | None
    parts: list[dict[str, Any]]
    problems: list[str]
    token_ids: list[int] | None = None


class Chat(NamedTuple):
    """A conversation read back from its rendered text."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    offsets: list[dict[str, Any]]
    exact: bool
    report: dict[str, Any]


class Patched(NamedTuple):
    """A chat template with generation blocks, and in how many conversations they were proved."""

    chat_template: str
    proof: int
    rewritten: list[str]
    had_blocks: bool


class Conversion(NamedTuple):
    """What the conversion of a response schema came to."""

    status: str
    response_template: dict[str, Any] | None
    losses: list[dict[str, Any]]
    report: dict[str, Any]


class CheckReport(NamedTuple):
    """How many cases of a suite hold, and what there is to say about them."""

    passed: int
    failed: int
    not_run: int
    diagnostics: list[Diagnostic]

    @property
    def ok(self) -> bool:
        """Whether there are cases, and every one was run and holds."""
        return self.passed > 0 and self.failed == 0 and self.not_run == 0
