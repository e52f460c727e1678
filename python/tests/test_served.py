"""The event interface of vLLM and SGLang."""

import pytest
from backchat.integrations._ids import IdsParser, policy, reading_of
from backchat.integrations.vllm import ResponseParser
from test_parser import SPEC
from test_tokens import TEMPLATE, text_of_tokenizer


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


class Backend:
    """The interface of transformers' fast tokenizers: tokenizer.json as text."""

    def __init__(self, text):
        self.text = text

    def to_str(self):
        return self.text

    def get_vocab_size(self, **_):
        return len(self.text)


class Fast:
    def __init__(self, text):
        self.backend_tokenizer = Backend(text)


@pytest.fixture
def reading():
    found = reading_of(Fast(text_of_tokenizer()), TEMPLATE)
    assert found is not None
    return found


def read(reading, pieces, stops=()):
    """The content and the reasoning of pieces of ids and of the server's text."""
    parser = IdsParser(TEMPLATE, reading.tokenizer.encode("<model>"), reading, stops)
    events = []
    for place, (ids, text) in enumerate(pieces):
        parser.take(ids)
        parser.is_last = place == len(pieces) - 1
        events += parser.feed(text)
    events += parser.finalize()[1]
    told = {"content": "", "thinking": ""}
    for event in events:
        if event["type"] == "region_chunk":
            told[event["field"]] += event["text"]
    return told["content"], told["thinking"], parser.input_text


def test_ids_are_parsed_up_to_the_end_of_the_server_s_text(reading):
    def ids(text):
        return reading.tokenizer.encode(text)

    think, end, quoted = ids("<think>"), ids("<end>"), list(b"<think>")
    said = [*think, *quoted, *think]
    for pieces, stops, wanted in (
        # The server holds text and sends it later.
        ([(said, "<think><th"), (ids("Hi"), "ink><think>H"), ([], "i")], (), ("Hi", "<think>")),
        # A stop string cuts ids off.
        ([(said, "<think><think><think>"), (ids("Hi there"), "Hi th")], (), ("Hi th", "<think>")),
        # A stop token that the server left out is parsed only if it is a stop.
        ([([*ids("Hi"), *end], "Hi")], end, ("Hi", "")),
        ([([*ids("Hi"), *ids("<call>"), *ids("x")], "Hi")], (), ("Hi", "")),
        # A marker decodes with a space that encoding had added.
        ([([*said, *ids("Hi")], "<think> <think> <think> Hi")], (), ("Hi", "<think>")),
        # Invalid bytes: from there on, only the ids count.
        ([([*said, 0xFF, *ids("Hi")], "<think><think><think>??Hi")], (), ("\ufffdHi", "<think>")),
        # Text that no id explains is parsed as text.
        ([(ids("Hi"), "Hi there<end>")], (), ("Hi there", "")),
    ):
        content, thinking, text = read(reading, pieces, stops)
        assert (content, thinking) == wanted, pieces
        assert "".join(thinking.split()) in text and content in text


def test_the_environment_selects_the_policy_for_ids(reading, monkeypatch):
    assert reading.policy == "exact"
    monkeypatch.setenv("BACKCHAT_POLICY", "either")
    either = reading_of(Fast(text_of_tokenizer()), TEMPLATE)
    assert either is not None
    pieces = [([*either.tokenizer.encode("<think>"), *b"a<think>b"], "<think>a<think>b")]
    assert read(either, pieces)[:2] == ("b", "a")
    assert read(reading, pieces)[:2] == ("", "a<think>b")
    monkeypatch.setenv("BACKCHAT_POLICY", "all")
    with pytest.raises(ValueError, match="BACKCHAT_POLICY is .* not 'all'"):
        policy()


def test_text_is_parsed_if_ids_cannot_be(caplog):
    assert reading_of(object(), TEMPLATE) is None
    assert reading_of(Fast('{"model": {}, "decoder": {"type": "CTC"}}'), TEMPLATE) is None
    assert "token ids are not used, only their text" in caplog.text and "CTC" in caplog.text
