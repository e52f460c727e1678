"""Tools from functions: their schemas, from type hints and docstrings, as transformers makes them.

>>> def weather(city: str, days: int = 1):
...     '''Look up the weather.
...
...     Args:
...         city: Where.
...         days (int): How many days.
...     '''
>>> tool_of(weather)["function"]["parameters"]["properties"]["days"]
{'type': 'integer', 'description': 'How many days.'}
"""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

#: The JSON types of values that can be written as they are.
_SCALARS: dict[type, str] = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
_TYPES: dict[Any, dict[str, Any]] = {
    **{kind: {"type": name} for kind, name in _SCALARS.items()},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
    Any: {},
}
#: Media, by the names of their classes: their packages need not be installed.
_MEDIA = {"PIL.Image.Image": "image", "torch.Tensor": "audio"}

_SECTION = r"[\n\s]*(?:Args:|Returns:|Raises:|\Z)"
_DESCRIPTION = re.compile(rf"^(.*?){_SECTION}", re.DOTALL)
_ARGUMENTS = re.compile(r"\n\s*Args:\n(.*?)[\n\s]*(?:Returns:|Raises:|\Z)", re.DOTALL)
_RETURNS = re.compile(r"\n\s*Returns:\n\s*(.*?)[\n\s]*(?:Raises:|\Z)", re.DOTALL)
#: `name: text` or `name (type): text`; the text ends before the next name that is not indented deeper.
_NAMED = r"\w+(?:[ \t]*\([^()\n]*\))?:"
_ARGUMENT = re.compile(
    rf"(?:^|\n)([ \t]*)(\w+)(?:[ \t]*\([^()\n]*\))?:\s*(.*?)\s*(?=\n(?!\1[ \t])[ \t]*{_NAMED}|\Z)", re.DOTALL
)
_CHOICES = re.compile(r"\(choices:\s*(.*?)\)\s*$", re.IGNORECASE)


def tool_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The tool that a function is. Raises `ValueError` if its hints or its docstring do not describe every argument."""
    name = getattr(function, "__name__", "operation")
    documentation = (inspect.getdoc(function) or "").strip()
    if not documentation:
        raise ValueError(f"the function {name} has no docstring, which describes a tool to the model")
    description, arguments, returned = _sections(documentation)
    parameters = _parameters(function, name)
    result = parameters["properties"].pop("return", None)
    for argument, schema in parameters["properties"].items():
        if argument not in arguments:
            raise ValueError(f"the docstring of the function {name} does not describe its argument `{argument}`")
        text = arguments[argument]
        if choices := _CHOICES.search(text):
            schema["enum"] = [item.strip() if isinstance(item, str) else item for item in json.loads(choices[1])]
            text = text[: choices.start()].strip()
        schema["description"] = text
    tool = {"name": name, "description": description, "parameters": parameters}
    if result is not None:
        tool["return"] = result if returned is None else {**result, "description": returned}
    return {"type": "function", "function": tool}


def _sections(documentation: str) -> tuple[str, dict[str, str], str | None]:
    """The description of a docstring, of each argument, and of the result."""
    description, listed, returned = (pattern.search(documentation) for pattern in (_DESCRIPTION, _ARGUMENTS, _RETURNS))
    lines = "\n".join(line for line in (listed[1] if listed else "").split("\n") if line.strip())
    arguments = {name: re.sub(r"\s*\n+\s*", " ", text.strip()) for _, name, text in _ARGUMENT.findall(lines)}
    return description[1].strip() if description else "", arguments, returned[1].strip() if returned else None


def _parameters(function: Callable[..., Any], name: str) -> dict[str, Any]:
    signature = inspect.signature(function).parameters
    # A method that is not bound has a receiver without a hint.
    first = next(iter(signature.values()), None)
    has_receiver = first is not None and first.name in ("self", "cls") and first.annotation is first.empty
    receiver = first.name if first is not None and has_receiver else None
    shown = [parameter for parameter in signature.values() if parameter.name != receiver]
    for parameter in shown:
        if parameter.annotation is parameter.empty:
            raise ValueError(f"the argument `{parameter.name}` of the function {name} has no type hint")
    properties = {}
    for argument, hint in get_type_hints(function).items():
        if argument == receiver:
            continue
        try:
            properties[argument] = _schema(hint)
        except ValueError:
            # A model never writes the result.
            if argument != "return":
                raise
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [parameter.name for parameter in shown if parameter.default is parameter.empty]:
        schema["required"] = required
    return schema


def _schema(hint: Any) -> dict[str, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None and isinstance(hint, type) and issubclass(hint, Enum):
        return _one_of([member.value for member in hint], hint)
    if origin is None:
        return _plain(hint)
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is Literal:
        return _one_of(list(arguments), hint)
    if origin in (list, tuple, dict) and not arguments:
        return dict(_TYPES[origin])
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is tuple:
        if len(arguments) == 1 or ... in arguments:
            raise ValueError(f"the type hint {hint} has no JSON schema; write it as a list")
        return {"type": "array", "prefixItems": [_schema(item) for item in arguments]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    raise ValueError(f"the type hint {hint} has no JSON schema")


def _plain(hint: Any) -> dict[str, Any]:
    media = _MEDIA.get(f"{getattr(hint, '__module__', '')}.{getattr(hint, '__qualname__', '')}")
    if media:
        return {"type": media}
    if hint not in _TYPES:
        message = f"the type hint {hint!r} has no JSON schema; write the tool as a dict, or use plain types and enums"
        raise ValueError(message)
    return dict(_TYPES[hint])


def _union(arguments: Iterable[Any]) -> dict[str, Any]:
    kinds = [_schema(kind) for kind in arguments if kind is not type(None)]
    if len(kinds) == 1:
        schema = kinds[0]
    elif all(kind.keys() == {"type"} and isinstance(kind["type"], str) for kind in kinds):
        names = sorted({kind["type"] for kind in kinds})
        schema = {"type": names[0] if len(names) == 1 else names}
    else:
        schema = {"anyOf": kinds}
    return {**schema, "nullable": True} if type(None) in arguments else schema


def _one_of(values: list[Any], hint: Any) -> dict[str, Any]:
    if not values or any(type(value) not in _SCALARS for value in values):
        raise ValueError(f"the values of {hint} are not all int, float, str, bool or None, or there are none")
    names = list(dict.fromkeys(_SCALARS[type(value)] for value in values))
    return {"type": names[0] if len(names) == 1 else names, "enum": values}
