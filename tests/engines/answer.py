"""Answers of chat servers, streamed or whole, in one form."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


class Refused(Exception):
    """The server's answer is an error. `status` is that of the response; 200 if the error is in a stream."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text[:300]}")
        self.status = status


@dataclass
class Answer:
    """What a client has in the end."""

    content: str = ""
    reasoning: str = ""
    #: The names and the arguments of the calls.
    calls: list[list[str]] = field(default_factory=list)
    finish: str | None = None
    #: The problems that `serve` reports.
    problems: list[str] = field(default_factory=list)

    def take(self, message: dict[str, Any]) -> None:
        """Add a message, or the next delta of one."""
        self.content += message.get("content") or ""
        self.reasoning += message.get("reasoning_content") or message.get("reasoning") or ""
        for number, call in enumerate(message.get("tool_calls") or ()):
            if call.get("index", number) == len(self.calls):
                self.calls.append(["", ""])
            grown, function = self.calls[call.get("index", number)], call["function"]
            grown[0] += function.get("name") or ""
            grown[1] += function.get("arguments") or ""


def ask(port: int, body: dict[str, Any], seconds: float = 180) -> Answer:
    """The answer of the server on a port of this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request(
            "POST", "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    if response.status != 200:
        raise Refused(response.status, text)
    answer = Answer()
    for event in _events(text) if body.get("stream") else [json.loads(text)]:
        if "error" in event:
            raise Refused(200, json.dumps(event["error"]))
        answer.problems += [problem["kind"] for problem in (event.get("backchat") or {}).get("problems") or ()]
        for choice in event.get("choices") or ():
            answer.take(choice.get("message") or choice.get("delta") or {})
            answer.finish = choice.get("finish_reason") or answer.finish
    return answer


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))
