"""The workbench: what the command does, as functions. Each answers what the command prints as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from backchat import _backchat
from backchat._backchat import Grammar, Template
from backchat._types import (
    Chat,
    CheckReport,
    Conversion,
    Derivation,
    Diagnostic,
    Masked,
    Patched,
    Proof,
    Rendered,
)


def derive(
    chat_template: str | os.PathLike[str],
    *,
    target: str | list[str] | None = None,
    variables: dict[str, Any] | None = None,
    samples: Iterable[Any] | None = None,
    reasoning_field: str | None = None,
) -> Derivation:
    """Derive a response template from a chat template, and prove it.

    `chat_template` is the text of a template, or the name of a place that holds one: a `.jinja` file, a
    `tokenizer_config.json`, a model folder, a `.gguf` file, or `ORG/NAME` in the local Hugging Face cache.

    >>> template = (
    ...     "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}"
    ...     "{% if add_generation_prompt %}[assistant]{% endif %}"
    ... )
    >>> derivation = derive(template)
    >>> derivation.status, derivation.proved == derivation.total
    ('proved', True)
    >>> derivation.response_template["start_anchor"]
    '[assistant]'
    """
    report, evidence = _backchat.derive(
        chat_template, target=target, variables=variables, samples=samples, reasoning_field=reasoning_field
    )
    proof = report["verification"]
    return Derivation(
        status=report["status"],
        response_template=report["response_template"],
        proved=proof["passed"],
        total=proof["cases"],
        failures=proof["failures"],
        readers=report["readers"],
        diagnostics=report["diagnostics"],
        evidence=evidence,
        report=report,
    )


def prove(
    chat_template: str | os.PathLike[str],
    template: Template | dict[str, Any] | str,
    *,
    samples: Iterable[Any] | None = None,
    variables: dict[str, Any] | None = None,
) -> Proof:
    """Prove any response template against a chat template, whoever wrote it.

    >>> chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}[assistant]"
    >>> prove(chat_template, {"start_anchor": "[assistant]", "fields": {"content": {"close": "<stop>"}}}).status
    'partial'
    """
    report = _backchat.prove(chat_template, template, samples=samples, variables=variables)
    proof = report["verification"]
    return Proof(report["status"], proof["passed"], proof["cases"], proof["failures"], report)


def lint(template: Template | dict[str, Any] | str, *, target: str | list[str] | None = None) -> list[Diagnostic]:
    """Say what is wrong or risky about a response template, for everyone or for one reader of it.

    >>> [problem.severity for problem in lint({"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}})]
    []
    """
    return _backchat.lint(template, target=target)


def render(
    chat_template: str | os.PathLike[str],
    messages: Sequence[dict[str, Any]],
    *,
    tools: Sequence[Any] | None = None,
    add_generation_prompt: bool = False,
    variables: dict[str, Any] | None = None,
) -> Rendered:
    """Render a conversation as `apply_chat_template` does.

    >>> render("{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}", [{"role": "user", "content": "Hi"}]).text
    'user: Hi'
    """
    text, spans = _backchat.render(
        chat_template, messages, tools=tools, add_generation_prompt=add_generation_prompt, variables=variables
    )
    return Rendered(text, spans)


def mask(
    chat_template: str | os.PathLike[str],
    messages: Sequence[dict[str, Any]],
    *,
    tools: Sequence[Any] | None = None,
    parts: Sequence[str] = ("assistant",),
    offsets: Sequence[Sequence[int]] | None = None,
    tokenizer: Any = None,
    token_ids: Sequence[int] | None = None,
    rule: str = "overlap",
    variables: dict[str, Any] | None = None,
) -> Masked:
    """Find what the assistant wrote in a rendered conversation, whether or not the template has generation blocks.

    With a `tokenizer` the answer has the render's `token_ids` and a mask of them; with `token_ids` of the caller, which have
    to be those of the render, a mask of these; with `offsets` of tokens, in characters, a mask of those. `rule="reference"`
    takes the tokens that transformers takes.

    >>> chat_template = (
    ...     "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}"
    ...     "{% if add_generation_prompt %}[assistant]{% endif %}"
    ... )
    >>> masked = mask(chat_template, [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}])
    >>> [masked.text[start:end] for start, end in masked.spans]
    ['Yes.<end>']
    """
    answer = _backchat.mask(
        chat_template,
        messages,
        tools=tools,
        parts=list(parts),
        offsets=offsets,
        tokenizer=tokenizer,
        token_ids=token_ids if token_ids is None else list(token_ids),
        rule=rule,
        variables=variables,
    )
    return Masked(
        text=answer["text"],
        spans=[(start, end) for start, end in answer["assistant_spans"]],
        mask=answer.get("token_mask", answer.get("mask")),
        parts=answer["parts"],
        problems=answer.get("problems", []),
        token_ids=answer.get("token_ids"),
    )


def doctor(chat_template: str | os.PathLike[str], *, variables: dict[str, Any] | None = None) -> dict[str, Any]:
    """Say what a chat template can do: the facts, by name.

    >>> doctor("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")["capabilities"]["tools"]
    'dropped'
    """
    return _backchat.doctor(chat_template, variables=variables)


def input_schema(chat_template: str | os.PathLike[str], *, variables: dict[str, Any] | None = None) -> dict[str, Any]:
    """Say what a chat template takes, as a JSON Schema of its messages, tools and variables.

    >>> schema = input_schema("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
    >>> schema["properties"]["tools"]
    {'anyOf': [{'type': 'array', 'maxItems': 0}, {'type': 'null'}]}
    """
    return _backchat.input_schema(chat_template, variables=variables)


def unrender(chat_template: str | os.PathLike[str], text: str, *, variables: dict[str, Any] | None = None) -> Chat:
    """Read the messages of a rendered conversation back; raises `ValueError` where the template renders no such text.

    >>> chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}"
    >>> unrender(chat_template, "[user]Hi<end>[assistant]Yes.<end>").messages[1]
    {'role': 'assistant', 'content': 'Yes.'}
    """
    report = _backchat.unrender(chat_template, text, variables=variables)
    return Chat(report["messages"], report.get("tools"), report["offsets"], report["exact"], report)


def add_generation_blocks(chat_template: str | os.PathLike[str], *, variables: dict[str, Any] | None = None) -> Patched:
    """Put generation blocks into a chat template, and prove that it renders the same.

    >>> patched = add_generation_blocks("{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}")
    >>> "endgeneration" in patched.chat_template, patched.proof > 0
    (True, True)
    """
    return Patched(*_backchat.add_generation_blocks(chat_template, variables=variables))


def grammar(
    chat_template: str | os.PathLike[str],
    tools: Sequence[Any] | None = None,
    *,
    request: dict[str, Any] | None = None,
    tool_choice: str | dict[str, Any] | None = None,
    parallel: bool | None = None,
    prompt: str | None = None,
    format: str = "gbnf",
    variables: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the grammar of what a model may write for one request: `gbnf`, `ebnf`, `structural-tag`, `lark` or `json`.

    `request` is the body of a chat completion; its prompt is rendered if `prompt` does not give it.

    For more than one request keep a `Grammar`.

    >>> chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}[assistant]"
    >>> grammar(chat_template)["grammar"].startswith("root ::= ")
    True
    """
    return Grammar(chat_template, variables=variables).for_request(
        tools, request=request, tool_choice=tool_choice, parallel=parallel, prompt=prompt, format=format
    )


def convert(
    schema: dict[str, Any],
    *,
    chat_template: str | os.PathLike[str] | None = None,
    samples: Iterable[Any] | None = None,
    start_anchor: str | None = None,
) -> Conversion:
    """Convert a response schema into a response template, and say what changes between the two.

    >>> schema = {"x-regex": r"^(?P<content>.*?)(?:<end>|$)", "type": "object", "properties": {"content": {"type": "string"}}}
    >>> convert(schema, start_anchor="[assistant]").status
    'proved'
    """
    report = _backchat.convert(schema, chat_template=chat_template, samples=samples, start_anchor=start_anchor)
    return Conversion(report["status"], report["response_template"], report["losses"], report)


def check(path: str | os.PathLike[str]) -> CheckReport:
    """Hold templates against the fixtures of a file or a folder."""
    return CheckReport(*_backchat.check(os.fspath(path)))
