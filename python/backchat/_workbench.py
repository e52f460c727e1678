"""The workbench: the commands as functions, each of which returns what the command prints as JSON.

Sources are named as on the command line: a file, a model folder, or `ORG/NAME` in the Hugging Face cache. A `str` that
contains `{` or a line break, or is empty, is the text itself. docs/python.md has the rule.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

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
    Repair,
)

#: The name of a source, or the text of a chat template.
ChatTemplate: TypeAlias = str | os.PathLike[str]
#: The name of a source, JSON text, or a response template itself.
ResponseTemplate: TypeAlias = str | os.PathLike[str] | dict[str, Any] | Template
#: Dicts, dataclasses or pydantic models.
Messages: TypeAlias = Sequence[Any]
#: The name of a file, or recorded outputs: texts, or dicts with `text` and other keys.
Samples: TypeAlias = str | os.PathLike[str] | Iterable[str | dict[str, Any]]


def _names(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def derive(
    chat_template: ChatTemplate,
    *,
    target: str | list[str] | None = None,
    variables: dict[str, Any] | None = None,
    samples: Samples | None = None,
    reasoning_field: str | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> Derivation:
    """Derive a response template from a chat template, and prove it.

    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, or the text of a chat template.
    - `target`: Restrict the draft to what this reader accepts, including its name for reasoning: transformers, trl, vllm,
      sglang, smg, portable; or a list of them.
    - `variables`: Set template variables.
    - `samples`: Also test the draft on recorded outputs of the model, and learn from them.
    - `reasoning_field`: Name the field for reasoning, which is also its key in messages; the default is thinking if the chat
      template reads that or reasoning_content, or else the key that it reads.
    - `template_name`: Select one of several chat templates.
    - `budget`: Allow this many times the usual work for examining a template.

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
        chat_template,
        target=target,
        variables=variables,
        samples=samples,
        reasoning_field=reasoning_field,
        template_name=template_name,
        budget=budget,
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
    template: ResponseTemplate,
    chat_template: ChatTemplate,
    *,
    samples: Samples | None = None,
    thorough: bool = False,
    variables: dict[str, Any] | None = None,
    reasoning_field: str | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> Proof:
    """Prove a response template against its chat template.

    - `template`: The JSON of a response template, or a tokenizer_config.json, model folder or ORG/NAME in the Hugging Face
      cache that contains one, or the template itself.
    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, or the text of a chat template.
    - `samples`: Also test the template on recorded outputs of the model.
    - `thorough`: Also cut every conversation at every character and parse it with the recovery policies; slow.
    - `variables`: Set chat template variables.
    - `reasoning_field`: Accept this key for reasoning, even if the chat template reads another.
    - `template_name`: Select one of several chat templates.
    - `budget`: Allow this many times the usual work for examining a template.

    >>> chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}[assistant]"
    >>> prove({"start_anchor": "[assistant]", "fields": {"content": {"close": "<stop>"}}}, chat_template).status
    'partial'
    """
    report = _backchat.prove(
        template,
        chat_template,
        samples=samples,
        thorough=thorough,
        variables=variables,
        reasoning_field=reasoning_field,
        template_name=template_name,
        budget=budget,
    )
    proof = report["verification"]
    return Proof(report["status"], proof["passed"], proof["cases"], proof["failures"], report)


def lint(
    template: ResponseTemplate, *, target: str | list[str] | None = None, tokenizer: Any = None, budget: float = 1.0
) -> list[Diagnostic]:
    """Lint response templates and chat templates.

    - `template`: A response template, response schema or chat template: a JSON file, .jinja file, tokenizer_config.json, model
      folder, .gguf file, ORG/NAME in the Hugging Face cache, or the text itself. If a source contains both, both are linted.
    - `target`: Also check what this reader refuses or misreads: transformers, trl, vllm, sglang, smg, portable; or a list of
      them.
    - `tokenizer`: Report markers for which this tokenizer.json, or the one in a model folder, has no token.
    - `budget`: Allow this many times the usual work for examining a template.

    Findings have their rules' default levels: backchat.toml is not read.

    >>> [problem.severity for problem in lint({"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}})]
    []
    """
    return _backchat.lint(template, target=target, tokenizer=tokenizer, budget=budget)


def render(
    chat_template: ChatTemplate,
    messages: Messages,
    *,
    tools: Sequence[Any] | None = None,
    add_generation_prompt: bool = False,
    tokenizer: Any = None,
    sanitize_control_tokens: bool = False,
    variables: dict[str, Any] | None = None,
    template_name: str | None = None,
) -> Rendered:
    """Render conversations with a chat template, byte for byte as transformers does.

    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, or the text of a chat template.
    - `messages`: Render these messages.
    - `tools`: Pass these tools to the template.
    - `add_generation_prompt`: Append the start of the assistant's turn.
    - `tokenizer`: Encode the render with this tokenizer.json, or the one in a model folder, and add its ids; or a tokenizer of
      transformers or tokenizers.
    - `sanitize_control_tokens`: Encode control tokens in messages, tools and variables as plain text, so that only the template
      writes them.
    - `variables`: Set template variables.
    - `template_name`: Select one of several chat templates.

    Messages are dicts, dataclasses or pydantic models, and prepared as by `apply_chat_template`: keys with None are left out, and
    reasoning is copied to its other names.

    >>> render("{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}", [{"role": "user", "content": "Hi"}]).text
    'user: Hi'
    """
    text, spans, ids = _backchat.render(
        chat_template,
        messages,
        tools=tools,
        add_generation_prompt=add_generation_prompt,
        tokenizer=tokenizer,
        sanitize_control_tokens=sanitize_control_tokens,
        variables=variables,
        template_name=template_name,
    )
    return Rendered(text, spans, ids)


def mask(
    chat_template: ChatTemplate,
    messages: Messages,
    *,
    tools: Sequence[Any] | None = None,
    parts: str | Sequence[str] = ("assistant",),
    offsets: Sequence[Sequence[int]] | None = None,
    tokenizer: Any = None,
    token_ids: Sequence[int] | None = None,
    rule: str = "overlap",
    variables: dict[str, Any] | None = None,
    template_name: str | None = None,
) -> Masked:
    """Locate the assistant's text, with or without generation blocks: all of it, or these parts.

    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, or the text of a chat template.
    - `messages`: Render these messages.
    - `tools`: Pass these tools to the template.
    - `parts`: Select parts: assistant, last, content, reasoning, calls, tags.
    - `offsets`: Read the offsets of the render's tokens, [[start, end], …] in code points, and add a mask for them.
    - `tokenizer`: Encode the render with this tokenizer.json, or the one in a model folder, and add its ids and a mask for
      them; or a tokenizer of transformers or tokenizers.
    - `token_ids`: Add a mask for these ids, which must be the ids of the render.
    - `rule`: Select the tokens that a span covers: each that overlaps with it, or, with `reference`, those that transformers
      selected before 5.24.
    - `variables`: Set template variables.
    - `template_name`: Select one of several chat templates.

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
        parts=_names(parts),
        offsets=getattr(offsets, "tolist", lambda: offsets)(),
        tokenizer=tokenizer,
        token_ids=token_ids if token_ids is None else list(token_ids),
        rule=rule,
        variables=variables,
        template_name=template_name,
    )
    return Masked(
        text=answer["text"],
        spans=[(start, end) for start, end in answer["assistant_spans"]],
        mask=answer.get("token_mask", answer.get("mask")),
        parts=answer["parts"],
        problems=answer.get("problems", []),
        token_ids=answer.get("token_ids"),
    )


def doctor(
    chat_template: ChatTemplate,
    *,
    variables: dict[str, Any] | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> dict[str, Any]:
    """Examine a chat template: what it accepts, drops silently, and refuses.

    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, or the text of a chat template.
    - `variables`: Set template variables.
    - `template_name`: Select one of several chat templates.
    - `budget`: Allow this many times the usual work for examining a template.

    >>> doctor("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")["capabilities"]["tools"]
    'dropped'
    """
    return _backchat.doctor(chat_template, variables=variables, template_name=template_name, budget=budget)


def input_schema(
    chat_template: ChatTemplate,
    *,
    variables: dict[str, Any] | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> dict[str, Any]:
    """Describe the input of a chat template as a JSON Schema of its messages, tools and variables.

    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, or the text of a chat template.
    - `variables`: Set template variables.
    - `template_name`: Select one of several chat templates.
    - `budget`: Allow this many times the usual work for examining a template.

    >>> schema = input_schema("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
    >>> schema["properties"]["tools"]
    {'anyOf': [{'type': 'array', 'maxItems': 0}, {'type': 'null'}]}
    """
    return _backchat.input_schema(chat_template, variables=variables, template_name=template_name, budget=budget)


def unrender(
    chat_template: ChatTemplate,
    text: str,
    *,
    variables: dict[str, Any] | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> Chat:
    """Read a rendered chat back into its messages, proved by rendering them again.

    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, or the text of a chat template.
    - `text`: The rendered chat itself.
    - `variables`: Set template variables.
    - `template_name`: Select one of several chat templates.
    - `budget`: Allow this many times the usual work for examining a template.

    Raises `ValueError` if the text is not a render of the template.

    >>> chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}"
    >>> unrender(chat_template, "[user]Hi<end>[assistant]Yes.<end>").messages[1]
    {'role': 'assistant', 'content': 'Yes.'}
    """
    report = _backchat.unrender(chat_template, text, variables=variables, template_name=template_name, budget=budget)
    return Chat(report["messages"], report.get("tools"), report["offsets"], report["exact"], report)


def add_generation_blocks(
    chat_template: ChatTemplate,
    *,
    variables: dict[str, Any] | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> Patched:
    """Add generation blocks to a chat template, proved to render the same bytes.

    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, or the text of a chat template.
    - `variables`: Set template variables.
    - `template_name`: Select one of several chat templates.
    - `budget`: Allow this many times the usual work for examining a template.

    >>> patched = add_generation_blocks("{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}")
    >>> "endgeneration" in patched.chat_template, patched.proof > 0
    (True, True)
    """
    patched = _backchat.add_generation_blocks(
        chat_template, variables=variables, template_name=template_name, budget=budget
    )
    return Patched(*patched)


def fix(
    chat_template: ChatTemplate,
    problems: str | Iterable[str] | None = None,
    *,
    variables: dict[str, Any] | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> Repair:
    """Repair a chat template.

    Every repair is proved by renders: a conversation that has no problem keeps its bytes.

    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, or the text of a chat template.
    - `problems`: Repair these problems, such as late_system; the default is every problem that `doctor` lists.
    - `variables`: Set template variables.
    - `template_name`: Select one of several chat templates.
    - `budget`: Allow this many times the usual work for examining a template.

    >>> repair = fix("{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}", ["parts"])
    >>> repair.cured[0]["shapes"], repair.proof["tried"] > 40
    (['system', 'user', 'assistant'], True)
    """
    given = None if problems is None else _names(problems)
    text, report = _backchat.fix(chat_template, given, variables=variables, template_name=template_name, budget=budget)
    return Repair(text, report["diff"], report["cured"], report["left"], report["proof"])


def grammar(
    chat_template: ResponseTemplate,
    tools: Sequence[Any] | None = None,
    *,
    request: dict[str, Any] | None = None,
    tool_choice: str | dict[str, Any] | None = None,
    parallel: bool | None = None,
    prompt: str | None = None,
    format: str = "gbnf",
    variables: dict[str, Any] | None = None,
    template_name: str | None = None,
    budget: float = 1.0,
) -> dict[str, Any]:
    """Write the grammar of a model's valid outputs, for an engine that constrains sampling.

    - `chat_template`: A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the
      Hugging Face cache, the text of a chat template, or a response template alone.
    - `tools`: The tools of the request.
    - `request`: The body of a chat completion as a client sends it, instead of tools and choice; its prompt is rendered
      unless `prompt` is given.
    - `tool_choice`: Select the tools that the model may or must call: `auto`, `required`, `none`, a name, or OpenAI's object.
    - `parallel`: `False` allows one call at most.
    - `prompt`: Continue this prompt, exactly as it will be sent.
    - `format`: Select the engine: llama.cpp (gbnf), xgrammar (ebnf, structural-tag), llguidance (lark), any other (json).
    - `variables`: Set template variables.
    - `template_name`: Select one of several chat templates.
    - `budget`: Allow this many times the usual work for examining a template.

    For several requests, keep a `Grammar`.

    >>> chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}[assistant]"
    >>> grammar(chat_template)["grammar"].startswith("root ::= ")
    True
    """
    return Grammar(chat_template, variables=variables, template_name=template_name, budget=budget).for_request(
        tools, request=request, tool_choice=tool_choice, parallel=parallel, prompt=prompt, format=format
    )


def convert(
    schema: dict[str, Any] | str | os.PathLike[str],
    *,
    chat_template: ChatTemplate | None = None,
    samples: Samples | None = None,
    start_anchor: str | None = None,
) -> Conversion:
    """Convert a response schema to a response template, and prove it.

    - `schema`: The JSON of a response schema, or a tokenizer_config.json, model folder or ORG/NAME in the Hugging Face cache that
      contains one, or the schema itself.
    - `chat_template`: Read the start anchor from this chat template; the default is the one in the model folder.
    - `start_anchor`: Use this start anchor: the text in the prompt after which the model's turn begins.
    - `samples`: Also compare the schema and the template on recorded outputs of the model.

    >>> schema = {"x-regex": r"^(?P<content>.*?)(?:<end>|$)", "type": "object", "properties": {"content": {"type": "string"}}}
    >>> convert(schema, start_anchor="[assistant]").status
    'proved'
    """
    report = _backchat.convert(schema, chat_template=chat_template, samples=samples, start_anchor=start_anchor)
    return Conversion(report["status"], report["response_template"], report["losses"], report)


def check(
    *paths: str | os.PathLike[str], filter: str | None = None, template: ResponseTemplate | None = None
) -> CheckReport:
    """Check templates against fixtures.

    - `paths`: Fixture files, or folders of them; the current folder by default.
    - `filter`: Select the cases with this text in their path or name.
    - `template`: Read every case with this response template instead of its own.
    """
    return CheckReport(*_backchat.check(*paths, filter=filter, template=template))
