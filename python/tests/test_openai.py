"""`openai_chunks` and `openai_completion`, for clients of OpenAI's protocol."""

import itertools
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import backchat
import pytest

ROOT = Path(__file__).parent.parent.parent
#: Formats that end their calls in different ways: with a mark, with the turn, as JSON, as one list, by position.
FORMATS = [
    "apertus",
    "command_r7b",
    "deepseek_v3_1",
    "devstral",
    "gemma_4",
    "glm_4_6",
    "gpt_oss",
    "granite_3_3",
    "hermes",
    "kimi_k2",
    "lfm_2_5",
    "llama_3_1",
    "minimax_m2",
    "qwen3_coder",
    "seed_oss",
]

SPEC = {
    "start_anchor": "<bot>",
    "fields": {
        "thinking": {"open": "<t>", "close": ["</t>", "<end>"]},
        "tool_calls": {
            "open_pattern": "<call (?P<name>[a-z]+)>",
            "close": ["</call>", "<end>"],
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": "<a (?P<key>[a-z]+)>(?P<value>.*?)</a>"},
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"close": "<end>"},
    },
}
PAY = "<call pay><a sum>1000</a></call>"


def events(text, size=1, **options):
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    return backchat.stream(pieces, SPEC, prefix="<bot>", **options)


def told(text, **options):
    """The answer that a client assembles: the texts, the calls, and the finish reason."""
    texts: dict[str, str] = {}
    calls, reason = together(backchat.openai_chunks(events(text), **options), texts)
    return texts, calls, reason


def together(chunks, texts=None):
    """The calls of a stream and its finish reason; its other texts are added to `texts`."""
    texts = {} if texts is None else texts
    calls: dict[int, dict[str, str]] = {}
    reason = None
    for chunk in chunks:
        for choice in chunk["choices"]:
            reason = choice["finish_reason"] or reason
            for call in choice["delta"].pop("tool_calls", ()):
                known = calls.setdefault(call["index"], {"name": "", "arguments": ""})
                for key, value in call["function"].items():
                    known[key] += value
            for name, value in choice["delta"].items():
                texts[name] = texts.get(name, "") + value
    return list(calls.values()), reason


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_arguments_grow():
    deltas = [
        call
        for chunk in backchat.openai_chunks(events(PAY))
        for choice in chunk["choices"]
        for call in choice["delta"].get("tool_calls", ())
    ]
    assert len(deltas) > 2
    whole = list(backchat.openai_chunks(events(PAY, grow_calls=False)))
    (call,) = next(delta for chunk in whole if (delta := chunk["choices"][0]["delta"].get("tool_calls")))
    assert call["function"] == {"name": "pay", "arguments": '{"sum": "1000"}'}
    assert "".join(delta["function"].get("arguments", "") for delta in deltas) == call["function"]["arguments"]


@pytest.mark.parametrize(
    ("text", "says", "reason"),
    [
        ("Hi<end>", None, "stop"),
        ("Hi", None, "stop"),
        ("Hi", "length", "length"),
        (PAY + "<end>", None, "tool_calls"),
        (PAY + "<end>", "stop", "tool_calls"),
        (PAY, "length", "length"),
        ("<t>Hm", None, "length"),
        ("<t>Hm", "stop", "stop"),
        ("<t>Hm<end>", None, "stop"),
        (PAY + "<call pay><a sum>1", None, "length"),
        ("<call pay><a sum>10</a>", None, "length"),
        ("<call pay><a sum>10</a>", "stop", "tool_calls"),
        ("Hi", "content_filter", "content_filter"),
    ],
)
def test_the_finish_reason(text, says, reason):
    assert told(text, finish_reason=says)[2] == reason
    assert told(text, finish_reason=lambda: says)[2] == reason
    completion = backchat.openai_completion(events(text), finish_reason=says)
    assert completion["choices"][0]["finish_reason"] == reason


@pytest.mark.parametrize("says", [None, "length"])
def test_no_cut_completes_a_call(says):
    text = f"<t>Hm</t>Well.{PAY}{PAY}<end>"
    for cut in range(len(text)):
        _, calls, reason = told(text[:cut], finish_reason=says)
        whole = [call["arguments"] for call in calls if is_json(call["arguments"])]
        assert set(whole) <= {'{"sum": "1000"}'}, text[:cut]
        assert len(whole) == text[:cut].count("</call>") or reason == "length", text[:cut]
        message = backchat.openai_completion(events(text[:cut]), finish_reason=says)["choices"][0]["message"]
        assert [call["function"] for call in message.get("tool_calls", ())] == calls


def recorded(name):
    """The longest recorded output with calls of a format: the text, its prompt, and the tools."""
    file = (ROOT / "tests" / "fixtures" / "formats" / f"{name}.fixture").read_text(encoding="utf-8")
    shared, *cases = re.split(r"^=== case .*\n", file, flags=re.MULTILINE)
    prefix, tools = (
        re.search(rf"^=== {part}\n(.*?)\n(?==== |\Z)", shared, re.MULTILINE | re.DOTALL) for part in ("prefix", "tools")
    )
    assert prefix is not None
    outputs = [
        case for case in cases if '"tool_calls"' in case and not re.search(r"^=== (prefix|tools)$", case, re.MULTILINE)
    ]
    texts = [re.search(r"^=== output\n(.*?)\n=== ", case, re.MULTILINE | re.DOTALL) for case in outputs]
    return max((found[1] for found in texts if found), key=len), prefix[1], json.loads(tools[1]) if tools else None


@pytest.mark.parametrize("name", FORMATS)
def test_no_cut_of_a_recorded_output_completes_a_call(name):
    template = backchat.Template.open(ROOT / "derived" / f"{name}.json")
    text, prefix, tools = recorded(name)

    def answer(end, says):
        """The calls with complete arguments in the stream and in the answer, and the finish reasons."""
        read = lambda: backchat.stream([text[:end]], template, prefix=prefix, tools=tools)
        streamed, reason = together(backchat.openai_chunks(read(), finish_reason=says))
        (choice,) = backchat.openai_completion(read(), finish_reason=says)["choices"]
        calls = [call["function"] for call in choice["message"].get("tool_calls", ())]
        assert says is None or choice["finish_reason"] == reason
        return streamed, calls, reason

    whole, calls, reason = answer(len(text), "stop")
    assert whole == calls and calls and reason == "tool_calls"
    for end in range(len(text)):
        for says in (None, "length"):
            streamed, calls, reason = answer(end, says)
            assert streamed == calls, (says, text[:end])
            done = [call for call in calls if is_json(call["arguments"])]
            assert done == whole[: len(done)], (says, text[:end])
            assert says is None or reason == "length", text[:end]


def broken_calls():
    """A template whose calls may turn out broken after their arguments have begun."""
    spec = json.loads(json.dumps(SPEC))
    spec["fields"]["tool_calls"] |= {"content": "json", "open_pattern": "<call (?P<name>[a-z]+)>"}
    del spec["fields"]["tool_calls"]["content_args"]
    return spec


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("says", [None, "stop", "length"])
def test_a_broken_call_is_content(size, says):
    broken = '<call pay>{"sum": oops}</call>'
    text = f'{broken}<call pay>{{"sum": 1}}</call>Done.<end>'
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    read = lambda: backchat.stream(pieces, broken_calls(), prefix="<bot>")
    message = backchat.openai_completion(read(), finish_reason=says)["choices"][0]["message"]
    assert [call["function"]["arguments"] for call in message["tool_calls"]] == ['{"sum": 1}']
    assert message["content"] == broken + "Done."
    texts: dict[str, str] = {}
    calls, _ = together(backchat.openai_chunks(read(), finish_reason=says), texts)
    # What a client has cannot be taken back: then the call stays as it was sent, and its text is not repeated.
    if size < 1000:
        assert not is_json(calls[0]["arguments"]) and texts["content"] == "Done."
    assert calls[-1]["arguments"] == '{"sum": 1}'


def test_only_the_limit_of_the_engine_cuts_a_call_off():
    text = '<call pay>{"sum": 1'
    read = lambda: backchat.stream([text], broken_calls(), prefix="<bot>")
    for says, content in ((None, None), ("length", None), ("stop", text)):
        (choice,) = backchat.openai_completion(read(), finish_reason=says)["choices"]
        assert choice["message"]["content"] == content, says
        assert ("tool_calls" in choice["message"]) == (content is None), says
        assert choice["finish_reason"] == (says or "length")


def test_serve_gives_the_same_answer(tmp_path):
    texts = [
        "Hi.<tool_call>\n{oops\n</tool_call>",
        '<tool_call>\n{"name": "f", "arguments": {"a": oops}}\n</tool_call>\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": {"a": 1',
        r'<tool_call>{"name": "f", "arguments": "{\"a\": 1',
        r'<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>',
        "<tool_call>\n{",
    ]
    asked = [(text, says) for text in texts for says in ("stop", "length")]
    rows = [json.dumps({"text": text, "finish_reason": says}) for text, says in asked]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    chat_template = ROOT / "chat_templates" / "hermes.jinja"
    template = backchat.Template.open(ROOT / "derived" / "hermes.json")
    messages = [{"role": "user", "content": "Hi"}]
    prompt = backchat.render(chat_template, messages, add_generation_prompt=True).text
    request = json.dumps({"messages": messages}).encode()
    command = [sys.executable, "-m", "backchat", "serve", "-q", str(chat_template), "--replay"]
    with subprocess.Popen([*command, str(tmp_path / "rows.jsonl"), "--port", "0"], stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().decode().strip() + "/chat/completions"
            for text, says in asked:
                with urllib.request.urlopen(
                    urllib.request.Request(url, request, {"Content-Type": "application/json"})
                ) as answer:
                    (served,) = json.load(answer)["choices"]
                read = backchat.stream([text], template, prefix=prompt)
                (choice,) = backchat.openai_completion(read, finish_reason=says)["choices"]
                for one in (served, choice):
                    for call in one["message"].get("tool_calls", ()):
                        del call["id"]
                # `serve` trims what it streams; events are raw.
                content = [(one["message"]["content"] or "").split() for one in (served, choice)]
                assert content[0] == content[1], (text, says)
                assert served["message"].get("tool_calls") == choice["message"].get("tool_calls"), (text, says)
                assert served["finish_reason"] == choice["finish_reason"], (text, says)
        finally:
            server.kill()


def test_events_have_the_text_of_a_broken_call():
    malformed = {"type": "region_malformed", "field": "tool_calls", "text": "{oops", "raw": "<call>{oops</call>"}
    events = [{"type": "region_open", "field": "tool_calls"}, malformed]
    assert backchat.openai_completion(events)["choices"][0]["message"]["content"] == "<call>{oops</call>"


def test_the_members_of_every_chunk():
    chunks = list(backchat.openai_chunks(events("Hi<end>"), model="m", usage={"total_tokens": 3}))
    assert {(chunk["id"], chunk["model"], chunk["object"]) for chunk in chunks} == {
        (chunks[0]["id"], "m", "chat.completion.chunk")
    }
    assert all(chunk["created"] == chunks[0]["created"] > 0 for chunk in chunks)
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"] == {"total_tokens": 3}


def test_the_client_s_own_models_accept_them():
    types = pytest.importorskip("openai.types.chat")
    from pydantic import TypeAdapter

    chunks = TypeAdapter(types.ChatCompletionChunk)
    for text, says in itertools.product((f"<t>Hm</t>Well.{PAY}<end>", "Hi"), (None, "length")):
        for chunk in backchat.openai_chunks(events(text), model="m", finish_reason=says):
            chunks.validate_python(chunk, strict=True)
        answer = backchat.openai_completion(events(text), model="m", finish_reason=says)
        TypeAdapter(types.ChatCompletion).validate_python(answer, strict=True)


def test_problems_are_data():
    parser = backchat.ResponseParser(SPEC, "<bot>", spans=True)
    parser.feed("Hi<call pay><a sum>10</a>")
    _, last = parser.finalize()
    assert [event["type"] for event in last] == ["problem", "region_close"]
    problem = {
        "kind": "unclosed",
        "field": "tool_calls",
        "call": 0,
        "region": 0,
        "at_end": True,
        "start": 12,
        "end": 25,
    }
    assert parser.problems == [problem]
    assert last[0] == {"type": "problem", **problem}
    rows = backchat.parse_batch(["Hi", "<call pay>"], SPEC, prefix="<bot>")
    assert list(rows.problems) == [1] and rows.problems[1][0]["kind"] == "unclosed"
    assert backchat.ResponseParser(SPEC, "<bot>").problems == []


JSON_SPEC: dict[str, Any] = {
    "start_anchor": "<bot>",
    "fields": {
        "thinking": {"open": "<t>", "close": "</t>"},
        "tool_calls": {
            "open": "<call>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
            "transform": {
                "type": "function",
                "id": "{content.id}",
                "function": {"name": "{content.name}", "arguments": "{content.arguments}"},
            },
        },
        "content": {"close": "<end>"},
    },
}


def completed(text, spec, size):
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    message = backchat.openai_completion(backchat.stream(pieces, spec, prefix="<bot>"))["choices"][0]["message"]
    calls = [
        (call["function"]["name"], call["function"]["arguments"], call["id"]) for call in message.pop("tool_calls", ())
    ]
    return message, calls


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_every_call_has_an_id_of_its_own(size):
    ids: list[tuple[list[Any], list[str]]] = [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "call_1", "call_2"]),
        (["call_1", None, "call_2"], ["call_1", "call_2", "call_3"]),
        # An id is text.
        ([["a"], 7, "a"], ["call_0", "call_1", "a"]),
    ]
    for written, told in ids:
        text = "".join(f"<call>{json.dumps({'id': id, 'name': 'f', 'arguments': {}})}</call>" for id in written)
        assert [id for *_, id in completed(text, JSON_SPEC, size)[1]] == told
        pieces = (text[at : at + size] for at in range(0, len(text), size))
        chunks = backchat.openai_chunks(backchat.stream(pieces, JSON_SPEC, prefix="<bot>"))
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        assert [call["id"] for delta in deltas for call in delta.get("tool_calls", ()) if "id" in call] == told


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_completion_has_the_calls_of_the_message(size):
    for body, call in [
        ('{"name": "f", "arguments": {"x": 1.50}, "id": "a1"}', ("f", '{"x": 1.50}', "a1")),
        ('{"name": "f", "arguments": {}, "arguments": {"x": 1}, "id": "a1"}', ("f", '{"x": 1}', "a1")),
        ('{"name": "a", "name": "b", "arguments": {}, "id": "a1"}', ("b", "{}", "a1")),
        ('{"name": "f", "arguments": null, "id": "a1"}', ("f", "{}", "a1")),
    ]:
        message, calls = completed(f"<call>{body}</call>", JSON_SPEC, size)
        assert (message["content"], calls) == (None, [call]), body
    for body in (
        '{"name": 5, "arguments": {}, "id": "a1"}',
        '{"name": "", "arguments": {}, "id": "a1"}',
        '{"name": "f", "arguments": "x", "id": "a1"}',
    ):
        message, calls = completed(f"<call>{body}</call>", JSON_SPEC, size)
        assert body in message["content"] and calls == [], body


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (r'"{\"a\": \"\u00e9\"}"', '{"a": "é"}'),
        ('"{}"', "{}"),
        ("null", "{}"),
        ('"x"', None),
        ('[{"a": 1}]', None),
        ("5", None),
    ],
)
def test_arguments_that_do_not_begin_as_an_object_come_at_their_end(arguments, wanted, size):
    for body in (f'"name": "f", "arguments": {arguments}', f'"arguments": {arguments}, "name": "f"'):
        text = f'<call>{{"id": "a1", {body}}}</call>Done.<end>'
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        texts: dict[str, str] = {}
        calls, reason = together(backchat.openai_chunks(backchat.stream(pieces, JSON_SPEC, prefix="<bot>")), texts)
        message, (*whole,) = completed(text, JSON_SPEC, size)
        assert calls == [{"name": name, "arguments": grown} for name, grown, _ in whole], body
        assert [call["arguments"] for call in calls] == ([] if wanted is None else [wanted]), body
        assert texts["content"] == message["content"] and ("arguments" in texts["content"]) == (wanted is None), body
        assert reason == ("stop" if wanted is None else "tool_calls")


def test_calls_after_one_that_waits_keep_their_order():
    field = {key: value for key, value in JSON_SPEC["fields"]["tool_calls"].items() if key != "repeats"}
    function = {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}
    spec = {**JSON_SPEC, "fields": {"tool_calls": {**field, "transform": function, "transform_each": True}}}
    written = ['{"b": 1}', r'"{\"b\": 2}"', '{"b": 1.50}', "null"]
    bodies = [f'{{"name": "f", "arguments": {each}}}' for each in written]
    text = f"<call>[{', '.join(bodies)}]</call>"
    calls, _ = together(backchat.openai_chunks(backchat.stream(text, spec, prefix="<bot>")))
    assert [call["arguments"] for call in calls] == ['{"b": 1}', '{"b": 2}', '{"b": 1.50}', "{}"]
    message = backchat.openai_completion(backchat.stream(text, spec, prefix="<bot>"))["choices"][0]["message"]
    assert [call["function"] for call in message["tool_calls"]] == calls
    # Of a call that was cut off there is no part that could be read as something else.
    cut = text[: text.index("2")]
    for says in (None, "length"):
        read = lambda: backchat.stream(cut, spec, prefix="<bot>")
        calls, reason = together(backchat.openai_chunks(read(), finish_reason=says))
        assert [call["arguments"] for call in calls] == ['{"b": 1}', ""] and reason == "length"
        message = backchat.openai_completion(read(), finish_reason=says)["choices"][0]["message"]
        assert [call["function"] for call in message["tool_calls"]] == calls


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_joined_texts_are_those_of_the_message(size):
    text = "<t>\n Hm. \n</t>\n\nWell,  then. \n<end>"
    kept = {
        **JSON_SPEC,
        "fields": {**JSON_SPEC["fields"], "content": {"close": "<end>", "content_args": {"strip": False}}},
    }
    for spec in (JSON_SPEC, kept):
        parsed = backchat.parse_response(text, spec, prefix="<bot>")
        message, _ = completed(text, spec, size)
        assert message["reasoning_content"] == parsed["thinking"] == "Hm."
        assert message["content"] == parsed["content"]
        pieces = (text[at : at + size] for at in range(0, len(text), size))
        texts: dict[str, str] = {}
        together(backchat.openai_chunks(backchat.stream(pieces, spec, prefix="<bot>")), texts)
        # A stream cannot know that a field keeps the white space before its text.
        assert texts["content"] == parsed["content"].lstrip() and texts["reasoning_content"] == "Hm."
    message, calls = completed('\n\n<call>{"name": "f", "arguments": {}, "id": "a"}</call>', JSON_SPEC, size)
    assert message["content"] is None and len(calls) == 1
    assert completed("", JSON_SPEC, size)[0]["content"] == ""
