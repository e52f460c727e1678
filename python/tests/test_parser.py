"""The parser in Python: templates, events, exceptions, threads."""

import asyncio
import contextlib
import copy
import gc
import json
import pickle
import sys
import threading
from typing import Any

import backchat
import pytest
from backchat.integrations.transformers import NotProved

SPEC = {
    "start_anchor": "<bot>",
    "defaults": {"role": "assistant"},
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open": "<call>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.args}"}},
        },
        "content": {"close": "<end>"},
    },
}
OUTPUT = '<think>Hm</think>Äh, yes.<call>{"name": "f", "args": {"a": 1}}</call><end>'
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "thinking": "Hm",
    "content": "Äh, yes.",
    "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}],
}


def joined(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events, with the chunks of a region merged."""
    found: list[dict[str, Any]] = []
    for event in events:
        if event["type"] == "region_chunk" and found and found[-1]["type"] == "region_chunk":
            found[-1] = {**event, "text": found[-1]["text"] + event["text"]}
        else:
            found.append(event)
    return found


def test_a_whole_output():
    assert backchat.parse_response(OUTPUT, SPEC, prefix="<bot>") == MESSAGE
    assert list(backchat.parse_response(OUTPUT, SPEC, prefix="<bot>")) == list(MESSAGE)


def test_one_message_however_the_text_is_cut():
    template = backchat.Template(SPEC)
    for cut in range(len(OUTPUT) + 1):
        parser = backchat.ResponseParser(template, "<bot>")
        parser.feed(OUTPUT[:cut])
        parser.feed(OUTPUT[cut:])
        assert parser.finalize()[0] == MESSAGE, cut


def test_events_have_the_keys_and_the_order_of_transformers():
    events = list(backchat.stream(["<think>H", "m</think>Y<end>"], SPEC, prefix="<bot>"))
    assert events == [
        {"type": "region_open", "field": "thinking"},
        {"type": "region_chunk", "field": "thinking", "text": "H", "dirty": False},
        {"type": "region_chunk", "field": "thinking", "text": "m", "dirty": False},
        {"type": "region_close", "field": "thinking", "value": "Hm"},
        {"type": "region_open", "field": "content"},
        {"type": "region_chunk", "field": "content", "text": "Y", "dirty": False},
        {"type": "region_close", "field": "content", "value": "Y"},
        {"type": "message", "message": {"role": "assistant", "thinking": "Hm", "content": "Y"}},
    ]
    assert [list(event) for event in events[:2]] == [["type", "field"], ["type", "field", "text", "dirty"]]


def test_spans_are_in_characters_and_no_chunk_holds_a_piece_of_the_prompt():
    parser = backchat.ResponseParser(SPEC, "<user>Hi<bot>Ä<thi", spans=True)
    assert parser.input_text == "Ä<thi"
    events = parser.initial_events + parser.feed("s") + parser.finalize()[1]
    assert [event.get("text") for event in events if event["type"] == "region_chunk"] == ["Ä", "s"]
    parser = backchat.ResponseParser(SPEC, "<bot>Ä", spans=True)
    opened = parser.feed("<think>x")[1]
    assert opened == {"type": "region_open", "field": "thinking", "start": 1, "end": 8, "captures": {}}


def test_held_text_and_the_message_so_far():
    parser = backchat.ResponseParser(SPEC, "<bot>", spans=True)
    parser.feed("<think>Hm</think>Ä")
    parser.feed("<en")
    assert parser.message == {"role": "assistant", "thinking": "Hm"}
    assert (parser.held.text, parser.held.start, parser.current_field) == ("<en", 18, "content")
    assert [pending["field"] for pending in parser.held.pending] == ["content"]


def test_a_malformed_region():
    parser = backchat.ResponseParser(SPEC, "<bot>")
    events = parser.feed("<call>nothing</call>Yes")
    told = [event["type"] for event in events if event["field"] == "tool_calls"]
    assert told[-2:] == ["region_malformed", "problem"]
    with pytest.raises(backchat.ParseError, match="tool_calls"):
        backchat.parse_response("<call>nothing</call>", SPEC, prefix="<bot>")
    parser = backchat.ResponseParser(SPEC, "<bot>", errors="raise")
    with pytest.raises(ValueError, match="not JSON"):
        parser.feed("<call>nothing</call>")
    parser.feed("Yes<end>")
    assert parser.finalize()[0]["content"] == "Yes"


def test_an_unknown_name_in_a_transform_is_a_key_error():
    spec = {"start_anchor": "a", "fields": {"x": {"open": "<", "close": ">", "transform": {"y": "{nope}"}}}}
    with pytest.raises(KeyError) as raised:
        backchat.parse_response("<b>", spec, prefix="")
    assert isinstance(raised.value, backchat.UnknownKey) and isinstance(raised.value, backchat.ParseError)


def test_required_fields():
    spec = {"start_anchor": "a", "fields": {"x": {"open": "<", "close": ">", "optional": False}}}
    with pytest.raises(backchat.ParseError, match="Required .*'x'"):
        backchat.parse_response("b", spec, prefix="")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: backchat.ResponseParser(SPEC), ValueError, "requires `prefix`"),
        (lambda: backchat.ResponseParser(SPEC, "", mode="fast"), ValueError, "stable"),  # type: ignore[arg-type]
        (lambda: backchat.ResponseParser(SPEC, "", errors="ignore"), ValueError, "raise"),  # type: ignore[arg-type]
        (lambda: backchat.ResponseParser(7, ""), TypeError, "not int"),  # type: ignore[arg-type]
        (lambda: backchat.ResponseParser(SPEC, "", stop_ids=[1]), ValueError, "need a `tokenizer`"),
        (lambda: backchat.parse_response("", SPEC, prefix="", stop_ids=[1]), ValueError, "need a `tokenizer`"),
        (lambda: backchat.Template({"fields": {1: {}}}), TypeError, "not int"),
        (lambda: backchat.Template("{"), backchat.TemplateError, "JSON"),
        (lambda: backchat.Template({"fields": {}}), backchat.TemplateError, "start_anchor"),
        (lambda: backchat.parse_response("\ud800", SPEC, prefix=""), UnicodeEncodeError, "surrogates"),
        (lambda: backchat.parse_response(b"x", SPEC, prefix=""), TypeError, "bytes"),
        (lambda: backchat.nothing, AttributeError, "nothing"),  # type: ignore[attr-defined]
    ],
)
def test_errors_of_wrong_use(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_every_problem_of_a_template_at_once():
    with pytest.raises(backchat.TemplateError) as raised:
        backchat.Template({"fields": {"a": {"join": ""}, "b": {"content": "nope"}}})
    text = str(raised.value)
    assert "requires 'repeats'" in text and "unknown content parser" in text, text
    assert {problem.path for problem in raised.value.diagnostics} >= {"fields.a.join", "fields.b.content"}


def test_a_finalized_parser_accepts_no_more_input():
    parser = backchat.ResponseParser(SPEC, "<bot>")
    parser.feed(OUTPUT)
    assert parser.finalize()[0] == MESSAGE == parser.message
    for call in (lambda: parser.feed("x"), parser.finalize):
        with pytest.raises(RuntimeError, match="already finalized"):
            call()


FOUND = backchat.Diagnostic("wrong-type", "error", "expected a list", "chat.json", "messages", 3, 7, None)
ERRORS = [
    backchat.Refused("unfinished", "the sample has no stop"),
    backchat.TemplateError([FOUND, FOUND]),
    backchat.parse_batch(["<call>{</call>"], SPEC, prefix="<bot>").errors[0],
    backchat.UnknownKey("`name` is not defined here"),
    NotProved(backchat.Derivation("partial", None, 1, 2, [{"name": "user"}], [], [], "", {})),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_exceptions_travel_between_processes(error):
    for made in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(made), str(made), vars(made)) == (type(error), str(error), vars(error))


def test_templates_are_values():
    template = backchat.Template(SPEC)
    assert template == backchat.Template(template.to_json()) == backchat.Template(template.to_dict())
    assert hash(template) == hash(backchat.Template(SPEC)) and template != backchat.Template({**SPEC, "defaults": {}})
    assert pickle.loads(pickle.dumps(template)) == copy.deepcopy(template) == copy.copy(template) == template
    assert template.fields == ["thinking", "tool_calls", "content"] and template.warnings == []


def test_templates_are_opened_as_the_command_opens_them(tmp_path, monkeypatch):
    wanted = backchat.Template(SPEC)
    (tmp_path / "template.json").write_text(wanted.to_json())
    for folder in ("model", "cache/hub/models--org--name/snapshots/1"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "tokenizer_config.json").write_text(json.dumps({"response_template": SPEC}))
    refs = tmp_path / "cache/hub/models--org--name/refs"
    refs.mkdir()
    (refs / "main").write_text("1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    for place in (tmp_path / "template.json", str(tmp_path / "model"), "org/name"):
        assert backchat.Template.open(place) == wanted, place
    with pytest.raises(backchat.TemplateError, match="no-such"):
        backchat.Template.open(tmp_path / "no-such")


def test_numbers_keep_their_digits():
    spec = {"start_anchor": "a", "fields": {"x": {"open": "<", "close": ">", "content": "json"}}}
    text = '<{"big": 123456789012345678901234567890, "float": 1.5, "none": null, "yes": true}>'
    found = backchat.parse_response(text, spec, prefix="")["x"]
    assert found == {"big": 123456789012345678901234567890, "float": 1.5, "none": None, "yes": True}
    assert backchat.Template({**spec, "defaults": found}).to_dict()["defaults"] == found


@pytest.mark.parametrize("tools", ["f", [5], {"type": "function", "function": {"name": "f"}}])
def test_tools_are_a_list_of_dicts_or_functions(tools):
    with pytest.raises(TypeError, match="dict"):
        backchat.parse_response("Hi<end>", SPEC, prefix="<bot>", tools=tools)


def test_arguments_are_cast_by_tools():
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
    text = '<call>{"name": "f", "args": {"a": "7"}}</call>'
    call = backchat.parse_response(text, SPEC, prefix="<bot>", tools=tools)["tool_calls"][0]
    assert call["function"]["arguments"] == {"a": 7}


def test_an_asynchronous_source():
    async def pieces():
        for character in OUTPUT:
            yield character

    async def last():
        return [event async for event in backchat.astream(pieces(), SPEC, prefix="<bot>")][-1]

    assert asyncio.run(last()) == {"type": "message", "message": MESSAGE}


def test_chunks_for_clients_of_openai():
    chunks = list(backchat.openai_chunks(backchat.stream([OUTPUT], SPEC, prefix="<bot>"), model="m", id="1"))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "Hm"
    assert "".join(delta.get("content", "") for delta in deltas) == "Äh, yes."
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", [])]
    assert calls[0] == {"name": "f", "arguments": ""}
    assert "".join(call["arguments"] for call in calls) == '{"a": 1}'
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_chunks_of_an_asynchronous_source():
    cuts = [OUTPUT[:20], OUTPUT[20:61], OUTPUT[61:]]

    async def pieces():
        for piece in cuts:
            yield piece

    async def found():
        events = backchat.astream(pieces(), SPEC, prefix="<bot>")
        return [chunk async for chunk in backchat.aopenai_chunks(events, model="m", id="1")]

    wanted = list(backchat.openai_chunks(backchat.stream(cuts, SPEC, prefix="<bot>"), model="m", id="1"))
    # Each answer has its own time.
    without_time = [[{**chunk, "created": 0} for chunk in chunks] for chunks in (asyncio.run(found()), wanted)]
    assert without_time[0] == without_time[1] and len(wanted) > 5


def test_chunks_arrive_with_their_piece():
    fed = []

    async def pieces():
        for piece in ("A", "B", "C<end>"):
            fed.append(piece)
            yield piece

    async def first_two():
        chunks = backchat.aopenai_chunks(backchat.astream(pieces(), SPEC, prefix="<bot>"))
        return [(await anext(chunks))["choices"][0]["delta"] for _ in range(2)]

    assert asyncio.run(first_two()) == [{"role": "assistant"}, {"content": "A"}]
    assert fed == ["A"]


def test_an_asynchronous_source_that_fails():
    async def pieces():
        yield "<think>Hm</think>Y"
        raise ConnectionError("the engine is gone")

    async def drain(parser):
        async for _ in backchat.aopenai_chunks(backchat.astream(pieces(), parser=parser)):
            pass

    parser = backchat.ResponseParser(SPEC, "<bot>")
    with pytest.raises(ConnectionError, match="gone"):
        asyncio.run(drain(parser))
    assert parser.message == {"role": "assistant", "thinking": "Hm"}
    assert parser.finalize()[0]["content"] == "Y"


def test_one_output_without_blocking_an_event_loop():
    from backchat.aio import aparse

    assert asyncio.run(aparse(OUTPUT, SPEC, prefix="<bot>")) == MESSAGE
    with pytest.raises(backchat.ParseError, match="tool_calls"):
        asyncio.run(aparse("<call>nothing</call>", SPEC, prefix="<bot>"))


def test_threads_share_a_template():
    template, wrong = backchat.Template(SPEC), []

    def work():
        for _ in range(200):
            if backchat.parse_response(OUTPUT, template, prefix="<bot>") != MESSAGE:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def to_its_end(template, prefix):
    parser = backchat.ResponseParser(template, prefix)
    parser.feed(OUTPUT)
    parser.finalize()


def abandoned(template, prefix):
    tools = [{"name": "f", "parameters": {"type": "object"}}]
    backchat.ResponseParser(template, prefix, spans=True, tools=tools).feed("<think>Hm</think>Ä<en")


def failed(template, prefix):
    parser = backchat.ResponseParser(template, prefix, errors="raise")
    with contextlib.suppress(backchat.ParseError):
        parser.feed("<call>nothing</call>")


def refused(template, prefix):
    with contextlib.suppress(UnicodeEncodeError):
        backchat.ResponseParser(template, prefix).feed("\ud800")


def streamed(template, prefix):
    next(backchat.stream(["<think>H", "m"], template, prefix=prefix))


def whole(template, prefix):
    backchat.parse_response(OUTPUT, template, prefix=prefix)


@pytest.mark.parametrize("use", [to_its_end, abandoned, failed, refused, streamed, whole])
def test_ten_thousand_parsers_leak_no_reference(use):
    template, prefix = backchat.Template(SPEC), "".join(["<bot", ">"])  # noqa: FLY002 (a str of its own)

    def counts():
        gc.collect()
        return sys.getrefcount(template), sys.getrefcount(prefix), len(gc.get_objects())

    for _ in range(100):
        use(template, prefix)
    before = counts()
    for _ in range(10_000):
        use(template, prefix)
    after = counts()
    assert after[:2] == before[:2] and abs(after[2] - before[2]) < 100


def test_a_batch_leaks_no_reference():
    template, text = backchat.Template(SPEC), f"{OUTPUT}."
    before = sys.getrefcount(template), sys.getrefcount(text), sys.getrefcount(None)
    for threads in (1, 2):
        backchat.parse_batch([text] * 10_000, template, prefix="<bot>", threads=threads)
    after = sys.getrefcount(template), sys.getrefcount(text), sys.getrefcount(None)
    assert after[:2] == before[:2] and abs(after[2] - before[2]) < 100
