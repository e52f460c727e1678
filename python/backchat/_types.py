"""The results and exceptions of `backchat`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Diagnostic(NamedTuple):
    """A finding: what is wrong, where, and how to fix it."""

    id: str
    severity: str
    message: str
    file: str | None
    path: str | None
    line: int | None
    column: int | None
    help: str | None

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place = f"{self.file}:{self.line}" if self.file else f"line {self.line}"
        return ": ".join(part for part in (place, self.path, self.message) if part)


class TemplateError(ValueError):
    """A template does not load, or a file cannot be read. `diagnostics` lists every problem."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


class ParseError(ValueError):
    """An output, or a region of it, cannot be parsed."""

    row: int

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownKey(ParseError, KeyError):
    """A transform names a key that does not exist; transformers raises `KeyError`."""


class Held(NamedTuple):
    """Held text, its position (in characters, with `spans=True`), and the delimiters it could become."""

    text: str
    start: int | None
    pending: list[dict[str, Any]]


class Message(dict[str, Any]):
    """The message of one output. `problems` lists the problems of the text, such as a call that was cut off."""

    problems: Sequence[dict[str, Any]] = ()


class BatchResult(list[Any]):
    """The messages of a batch in order, with `None` for a row that could not be parsed and the reason in `errors`.

    `problems` has the problems of rows that were parsed, such as a call that was cut off.
    """

    def __init__(
        self, rows: list[Any], errors: dict[int, ParseError], problems: dict[int, list[dict[str, Any]]]
    ) -> None:
        super().__init__(rows)
        self.errors = errors
        self.problems = problems


class Derivation(NamedTuple):
    """The result of a derivation."""

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
    """The result of proving a response template."""

    status: str
    proved: int
    total: int
    failures: list[dict[str, Any]]
    report: dict[str, Any]


class Rendered(NamedTuple):
    """A rendered conversation, the spans that generation blocks mark, in characters, and its ids if there is a tokenizer."""

    text: str
    assistant_spans: list[tuple[int, int]]
    token_ids: list[int] | None = None


class Masked(NamedTuple):
    """A rendered conversation, the spans of the mask in characters, and the mask of its tokens if they are known."""

    text: str
    spans: list[tuple[int, int]]
    mask: list[int] | None
    parts: list[dict[str, Any]]
    problems: list[str]
    token_ids: list[int] | None = None


class Chat(NamedTuple):
    """A conversation parsed from its rendered text."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    offsets: list[dict[str, Any]]
    exact: bool
    report: dict[str, Any]


class Patched(NamedTuple):
    """A chat template with generation blocks, and the number of conversations that prove them."""

    chat_template: str
    proof: int
    rewritten: list[str]
    had_blocks: bool


class Repair(NamedTuple):
    """A repaired chat template, its changes as a unified diff, and what renders prove about them."""

    text: str
    diff: str
    cured: list[dict[str, Any]]
    left: list[dict[str, Any]]
    proof: dict[str, Any]


class Conversion(NamedTuple):
    """The result of converting a response schema."""

    status: str
    response_template: dict[str, Any] | None
    losses: list[dict[str, Any]]
    report: dict[str, Any]


class CheckReport(NamedTuple):
    """How many cases of a suite pass, and the findings about them."""

    passed: int
    failed: int
    not_run: int
    diagnostics: list[Diagnostic]

    @property
    def ok(self) -> bool:
        """Whether there are cases and all of them pass."""
        return self.passed > 0 and self.failed == 0 and self.not_run == 0
