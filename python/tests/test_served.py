"""The contract of events that vLLM and SGLang have."""

from backchat.integrations.vllm import ResponseParser
from test_parser import SPEC


def test_spans_captures_and_errors():
    parser = ResponseParser(SPEC, "<bot>")
    events = parser.feed("<call>x</call>Yes<end>")
    first = next(event for event in events if event["type"] in ("region_malformed", "region_open"))
    assert list(first) == [
        "type",
        "field",
        "start",
        "end",
        "captures",
    ]
    malformed = next(event for event in events if event["type"] == "region_malformed")
    assert (malformed["start"], malformed["end"], malformed["field"]) == (7, 14, "tool_calls")
    assert isinstance(malformed["error"], ValueError) and parser.input_text.startswith("<call>x")
    assert parser.finalize()[0] == {"role": "assistant", "content": "Yes"}


def test_a_close_inside_a_json_string_under_a_grammar():
    text = '<call>{"name": "f", "args": {"a": "</call>"}}</call>'
    for constrained, wanted in ((False, None), (True, "</call>")):
        parser = ResponseParser(SPEC, "<bot>", constrained=constrained)
        parser.feed(text)
        calls = parser.finalize()[0].get("tool_calls")
        assert (calls and calls[0]["function"]["arguments"]["a"]) == wanted
