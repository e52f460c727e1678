"""Recovers the dicts of response templates that another project has loaded."""

from __future__ import annotations

from typing import Any

from backchat import Template


def spec_of(template: Any) -> Any:
    """The dict or `Template` of a response template.

    transformers, vLLM and SGLang load a dict into their own class, which keeps every key, so the dict can be rebuilt.
    """
    if isinstance(template, (dict, Template)):
        return template
    if not hasattr(template, "fields") or not hasattr(template, "start_anchor_re"):
        raise ValueError(f"response_template must be a dict, got {type(template).__name__}")
    spec: dict[str, Any] = {"fields": {name: _field(field) for name, field in template.fields.items()}}
    spec |= _delimiter("start_anchor", template.start_anchor_re, template.start_anchor_literals)
    if template.defaults:
        spec["defaults"] = template.defaults
    return spec


def _field(field: Any) -> dict[str, Any]:
    spec = _delimiter("open", field.open_re, field.open_literals)
    spec |= _delimiter("close", field.close_re, field.close_literals)
    spec |= {"content": field.content, "repeats": field.repeats, "optional": field.optional}
    if field.content_args:
        spec["content_args"] = field.content_args
    if field.join is not None:
        spec["join"] = field.join
    if field.transform is not None:
        spec |= {"transform": field.transform, "transform_each": field.transform_each}
    return spec


def _delimiter(key: str, pattern: Any, literals: list[str] | None) -> dict[str, Any]:
    if pattern is None:
        return {}
    if literals is not None:
        return {key: literals if len(literals) > 1 else literals[0]}
    return {f"{key}_pattern": pattern.pattern}
