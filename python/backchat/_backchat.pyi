from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, final

from typing_extensions import Self, disjoint_base

from backchat._types import BatchResult, Diagnostic, Held, Message

__all__ = [
    "Bridge",
    "Grammar",
    "ResponseParser",
    "Template",
    "Tokenizer",
    "add_generation_blocks",
    "check",
    "convert",
    "derive",
    "doctor",
    "fix",
    "input_schema",
    "lint",
    "main",
    "mask",
    "parse_batch",
    "parse_response",
    "prove",
    "render",
    "unrender",
]

_Mode: TypeAlias = Literal["stable", "reference"]
_Spec: TypeAlias = str | PathLike[str] | dict[str, Any] | Template
_Target: TypeAlias = str | list[str] | None
_ChatTemplate: TypeAlias = str | PathLike[str]
_Samples: TypeAlias = str | PathLike[str] | Iterable[str | dict[str, Any]] | None
_Messages: TypeAlias = Sequence[Any]
_Variables: TypeAlias = dict[str, Any] | None
_Policies: TypeAlias = str | Iterable[str] | None

@final
class Template:
    """A response template, loaded once and shared by any number of parsers and threads."""

    def __new__(cls, spec: _Spec) -> Self: ...
    @staticmethod
    def open(path: str | PathLike[str]) -> Template: ...
    @property
    def warnings(self) -> list[Diagnostic]: ...
    @property
    def fields(self) -> list[str]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Template: ...
    def __deepcopy__(self, memo: Any, /) -> Template: ...

@final
class Grammar:
    """The grammars of one model: built once, then queried for each request."""

    def __new__(
        cls,
        chat_template: _Spec,
        *,
        response_template: _Spec | None = None,
        variables: _Variables = None,
        special_tokens: dict[str, int] | Iterable[str] | None = None,
        template_name: str | None = None,
        budget: float = 1.0,
    ) -> Self: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]: ...
    @property
    def template(self) -> Template: ...
    def for_request(
        self,
        tools: Sequence[Any] | None = None,
        *,
        request: dict[str, Any] | None = None,
        tool_choice: str | dict[str, Any] | None = None,
        parallel: bool | None = None,
        prompt: str | None = None,
        reasoning: Literal["auto", "always", "never", "outside"] = "auto",
        format: str = "gbnf",
    ) -> dict[str, Any]: ...

@final
class Tokenizer:
    """A tokenizer.json, read once and shared by any number of parsers and threads."""

    def __new__(cls, source: str | PathLike[str], *, chat_control_tokens: Sequence[str] | None = None) -> Self: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, ids: Sequence[int]) -> str: ...

@disjoint_base
class Bridge:
    """Joins the turns of one model."""

    def __new__(
        cls,
        chat_template: _ChatTemplate,
        tokenizer: Any,
        template: _Spec,
        *,
        variables: _Variables = None,
        template_name: str | None = None,
    ) -> Self: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]: ...
    def read(self, prompt_ids: Sequence[int], sampled_ids: Sequence[int]) -> dict[str, Any]: ...
    def _next(
        self,
        messages: _Messages,
        prompt_ids: Sequence[int],
        sampled_ids: Sequence[int],
        new_messages: _Messages,
        *,
        tools: Iterable[Any] | None = None,
        stop_ids: Sequence[int] = ...,
        edits: str = "report",
    ) -> dict[str, Any]: ...

@disjoint_base
class ResponseParser:
    """A stateful parser of one generation."""

    def __new__(
        cls,
        template: _Spec,
        prefix: str | Sequence[int] | None = None,
        *,
        tools: Iterable[Any] | None = None,
        mode: _Mode = "stable",
        errors: Literal["event", "raise"] = "event",
        spans: bool = False,
        closers_in_strings: Literal["ends", "text"] = "ends",
        reasoning: Literal["kept", "in-content", "dropped"] = "kept",
        tools_off: bool = False,
        grow_calls: bool = False,
        tokenizer: Any = None,
        policy: Literal["exact", "either"] = "exact",
        stop_ids: Sequence[int] = ...,
        recover: _Policies = None,
        validate: bool = False,
    ) -> Self: ...
    @property
    def initial_events(self) -> list[dict[str, Any]]: ...
    def feed(self, text: str) -> list[dict[str, Any]]: ...
    def feed_tokens(self, ids: Sequence[int]) -> list[dict[str, Any]]: ...
    def finalize(self) -> tuple[dict[str, Any], list[dict[str, Any]]]: ...
    def _coerce_tool_calls(self, value: Any) -> Any: ...
    def _text_of(self, id: int) -> str: ...
    def _feed_spelled(self, text: str) -> list[dict[str, Any]]: ...
    @property
    def message(self) -> dict[str, Any]: ...
    @property
    def problems(self) -> list[dict[str, Any]]: ...
    @property
    def held(self) -> Held: ...
    @property
    def current_field(self) -> str | None: ...
    @property
    def input_text(self) -> str: ...

def parse_response(
    text: str | Sequence[int],
    template: _Spec,
    *,
    prefix: str | Sequence[int] | None = None,
    tools: Iterable[Any] | None = None,
    mode: _Mode = "stable",
    errors: Literal["event", "raise"] = "raise",
    tokenizer: Any = None,
    policy: Literal["exact", "either"] = "exact",
    stop_ids: Sequence[int] = ...,
    recover: _Policies = None,
    validate: bool = False,
) -> Message: ...
def parse_batch(
    texts: Any,
    template: _Spec | list[_Spec],
    *,
    prefix: str | Sequence[str | None] | Sequence[int] | Sequence[Sequence[int] | None] | None = None,
    tools: Iterable[Any] | None = None,
    threads: int | None = None,
    errors: Literal["collect", "raise", "text"] = "collect",
    output: Literal["python", "json"] = "python",
    tokenizer: Any = None,
    policy: Literal["exact", "either"] = "exact",
    stop_ids: Sequence[int] = ...,
    recover: _Policies = None,
    validate: bool = False,
) -> BatchResult: ...
def main(arguments: list[str]) -> int: ...
def derive(
    chat_template: _ChatTemplate,
    *,
    target: _Target = None,
    variables: _Variables = None,
    samples: _Samples = None,
    reasoning_field: str | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> tuple[dict[str, Any], str]: ...
def prove(
    template: _Spec,
    chat_template: _ChatTemplate,
    *,
    samples: _Samples = None,
    thorough: bool = False,
    variables: _Variables = None,
    reasoning_field: str | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> dict[str, Any]: ...
def lint(
    template: _Spec, *, target: _Target = None, tokenizer: Any = None, budget: float = 1.0
) -> list[Diagnostic]: ...
def render(
    chat_template: _ChatTemplate,
    messages: _Messages,
    *,
    tools: Sequence[Any] | None = None,
    add_generation_prompt: bool = False,
    tokenizer: Any = None,
    sanitize_control_tokens: bool = False,
    variables: _Variables = None,
    template_name: str | None = None,
) -> tuple[str, list[tuple[int, int]], list[int] | None]: ...
def mask(
    chat_template: _ChatTemplate,
    messages: _Messages,
    *,
    tools: Sequence[Any] | None = None,
    parts: list[str] = ...,
    offsets: Sequence[Sequence[int]] | None = None,
    tokenizer: Any = None,
    token_ids: Sequence[int] | None = None,
    rule: str = "overlap",
    variables: _Variables = None,
    template_name: str | None = None,
) -> dict[str, Any]: ...
def doctor(
    chat_template: _ChatTemplate,
    *,
    variables: _Variables = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> dict[str, Any]: ...
def input_schema(
    chat_template: _ChatTemplate,
    *,
    variables: _Variables = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> dict[str, Any]: ...
def unrender(
    chat_template: _ChatTemplate,
    text: str,
    *,
    variables: _Variables = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> dict[str, Any]: ...
def add_generation_blocks(
    chat_template: _ChatTemplate,
    *,
    variables: _Variables = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> tuple[str, int, list[str], bool]: ...
def fix(
    chat_template: _ChatTemplate,
    problems: list[str] | None = None,
    *,
    variables: _Variables = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> tuple[str, dict[str, Any]]: ...
def convert(
    schema: dict[str, Any] | str | PathLike[str],
    *,
    chat_template: _ChatTemplate | None = None,
    samples: _Samples = None,
    start_anchor: str | None = None,
) -> dict[str, Any]: ...
def check(
    *paths: str | PathLike[str], filter: str | None = None, template: _Spec | None = None
) -> tuple[int, int, int, list[Diagnostic]]: ...
