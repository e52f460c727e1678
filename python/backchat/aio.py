"""Parsing without blocking an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from backchat._backchat import parse_response
from backchat._types import Message


async def aparse(text: str, template: Any, **options: Any) -> Message:
    """`parse_response` for long texts: it runs on a thread, without the GIL.

    >>> template = {"start_anchor": "[bot]", "fields": {"content": {"close": "<end>"}}}
    >>> asyncio.run(aparse("Hello<end>", template, prefix="[bot]"))
    {'content': 'Hello'}
    """
    return await asyncio.to_thread(parse_response, text, template, **options)
