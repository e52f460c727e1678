"""What the judge of the matrix takes and refuses."""

import pytest

jsonschema = pytest.importorskip("jsonschema")

from engines.answer import Answer
from engines.judge import BROKEN, CUT, NOISE, verdict

OSLO = ["get_weather", '{"city": "Oslo"}']
ALARM = ["set_alarm", '{"on": true, "place": {"lat": 3}}']
JSON = '{"city": "Rome", "days": 2, "tags": ["a"]}'


def test_right_answers_are_taken() -> None:
    for kind, answer in {
        "required": Answer(calls=[OSLO, ALARM], finish="tool_calls"),
        "named": Answer(calls=[OSLO], finish="stop"),
        "strict": Answer("Mild.", finish="stop"),
        "auto": Answer(calls=[["paint", '{"city": 5}']], finish="tool_calls"),
        "one call": Answer(calls=[ALARM], finish="tool_calls"),
        "json_schema": Answer(JSON, "Hm.", finish="stop"),
        "format or call": Answer(JSON, finish="stop"),
    }.items():
        assert verdict(kind, answer) is None, kind


def test_wrong_answers_are_named() -> None:
    for kind, answer, wrong in [
        ("required", Answer("Mild.", finish="stop"), "no call"),
        ("required", Answer(calls=[OSLO], finish="stop"), "finish_reason stop"),
        ("named", Answer(calls=[OSLO, ALARM], finish="stop"), "a call of 'set_alarm'"),
        ("strict", Answer(calls=[["get_weather", '{"city": 5}']], finish="tool_calls"), "not valid"),
        ("auto", Answer(calls=[["get_weather", '{"city"']], finish="tool_calls"), "no JSON"),
        ("one call", Answer(calls=[OSLO, OSLO], finish="tool_calls"), "2 calls"),
        ("json_schema", Answer("Rome", finish="stop"), "no JSON"),
        ("json_schema", Answer(calls=[OSLO], finish="tool_calls"), "a call without tools"),
        ("format or call", Answer(calls=[["paint", "{}"]], finish="tool_calls"), "a call of 'paint'"),
    ]:
        assert str(verdict(kind, answer)).startswith(wrong), (kind, verdict(kind, answer))


def test_what_no_grammar_can_promise_is_not_judged() -> None:
    assert verdict("required", Answer("{", finish="length")) == CUT
    assert verdict("required", Answer("\ufffd", finish="stop")) == NOISE
    broken = Answer(calls=[["paint", ""]], finish="tool_calls", problems=["malformed"])
    assert verdict("auto", broken) == BROKEN
    # Under a grammar nothing breaks, and what breaks silently is wrong.
    assert verdict("required", broken) == "a call of 'paint'"


def test_a_stream_is_put_together() -> None:
    answer = Answer()
    for delta in (
        {"role": "assistant", "content": ""},
        {"reasoning_content": "Hm."},
        {"tool_calls": [{"index": 0, "function": {"name": "get_weather", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"city": "Oslo"}'}}]},
        {"tool_calls": [{"index": 1, "function": {"name": "set_alarm", "arguments": "{}"}}]},
    ):
        answer.take(delta)
    assert answer == Answer(reasoning="Hm.", calls=[OSLO, ["set_alarm", "{}"]])
