"""Parse columns of outputs into columns of messages. Needs pyarrow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import pyarrow as pa

from backchat._backchat import parse_batch
from backchat._stream import REASONING

CALL = pa.struct([("id", pa.string()), ("name", pa.string()), ("arguments", pa.string())])
MESSAGE = pa.struct(
    [
        ("role", pa.string()),
        ("content", pa.string()),
        ("reasoning_content", pa.string()),
        ("tool_calls", pa.list_(CALL)),
        ("other", pa.string()),
    ]
)


def parse_table(
    table: Any,
    template: Any,
    *,
    text: str = "text",
    prefix: str | None = None,
    prefix_column: str | None = None,
    into: str = "message",
    layout: str = "json",
    tools: Any = None,
    threads: int | None = 1,
    errors_into: str | None = None,
    problems_into: str | None = None,
    recover: str | Iterable[str] | None = None,
    validate: bool = False,
) -> Any:
    """Add a column of messages to a table or a record batch; a row that cannot be parsed gets null.

    `errors_into` names a column for the errors, and `problems_into` one for the problems of parsed rows, as JSON. The
    names must be new ones; the other columns and all metadata stay.
    `recover` and `validate` are as in `parse_batch`. `layout` is `json`, or `struct` with arguments as JSON text and
    other fields in `other`.

    >>> template = {"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}
    >>> parse_table(pa.table({"text": ["Hi<end>"]}), template, prefix="[bot]").column("message").to_pylist()
    ['{"content": "Hi"}']
    """
    if layout not in ("json", "struct"):
        raise ValueError(f'`layout` is "json" or "struct", not {layout!r}')
    if (prefix is None) == (prefix_column is None):
        raise ValueError("pass `prefix` for all rows, or `prefix_column` with one per row")
    _check_new(table.schema.names, into=into, errors_into=errors_into, problems_into=problems_into)
    prefixes = prefix if prefix_column is None else table.column(prefix_column).to_pylist()
    texts = table.column(text).to_pylist()
    output: Literal["json", "python"] = "json" if layout == "json" else "python"
    rows = parse_batch(
        texts,
        template,
        prefix=prefixes,
        tools=tools,
        threads=threads,
        output=output,
        recover=recover,
        validate=validate,
    )
    columns = {into: pa.array(rows, pa.string()) if layout == "json" else pa.array(map(_row, rows), MESSAGE)}
    if errors_into is not None:
        reasons = (str(rows.errors[row]) if row in rows.errors else None for row in range(len(rows)))
        columns[errors_into] = pa.array(reasons, pa.string())
    if problems_into is not None:
        found = (_text(rows.problems[row]) if row in rows.problems else None for row in range(len(rows)))
        columns[problems_into] = pa.array(found, pa.string())
    schema = table.schema
    for name, column in columns.items():
        schema = schema.append(pa.field(name, column.type))
    return type(table).from_arrays([*table.columns, *columns.values()], schema=schema)


def _check_new(names: list[str], **given: str | None) -> None:
    """Refuse a name that another column has."""
    taken = list(names)
    for argument, name in given.items():
        if name in taken:
            raise ValueError(f"`{argument}` names the column {name!r}, which exists already")
        if name is not None:
            taken.append(name)


def parse_batches(batches: Iterable[Any], template: Any, **options: Any) -> Iterator[Any]:
    """`parse_table` over record batches, as `mapInArrow` expects."""
    for batch in batches:
        yield parse_table(batch, template, **options)


def _row(message: dict[str, Any] | None) -> dict[str, Any] | None:
    if message is None:
        return None
    rest = dict(message)
    content = rest.pop("content", None)
    calls = rest.pop("tool_calls", None)
    if calls is not None and not isinstance(calls, list):
        calls = [calls]
    reasoning = next((rest.pop(name) for name in REASONING if isinstance(rest.get(name), str)), None)
    row = {
        "role": rest.pop("role", None),
        "content": content if content is None or isinstance(content, str) else _text(content),
        "reasoning_content": reasoning,
        "tool_calls": None if calls is None else [_call(call) for call in calls],
    }
    return row | {"other": _text(rest) if rest else None}


def _call(call: Any) -> dict[str, Any]:
    call = call if isinstance(call, dict) else {}
    function = call.get("function", call)
    arguments = function.get("arguments", {})
    return {
        "id": call.get("id"),
        "name": function.get("name"),
        "arguments": arguments if isinstance(arguments, str) else _text(arguments),
    }


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
