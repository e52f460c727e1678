"""Problems and recovery policies in every function that parses."""

import pickle
from types import SimpleNamespace

import backchat
import pytest
from backchat.integrations._model import leave_out
from backchat.integrations._served import ResponseParser

SPEC = {
    "start_anchor": "<bot>",
    "fields": {
        "tool_calls": {
            "open": "<call>",
            "close_pattern": "(?:</call>|<end>)",
            "repeats": True,
            "content": "json",
            "transform": {
                "type": "function",
                "function": {"name": "{content.name}", "arguments": "{content.arguments}"},
            },
        },
        "content": {"close": "<end>"},
    },
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "pay", "parameters": {"type": "object", "properties": {"sum": {"type": "integer"}}}},
    }
]
OUTPUT = '<call>{"name": "pay", "arguments": {"sum": 10,}}</call><end>'
CALL = {"type": "function", "function": {"name": "pay", "arguments": {"sum": 10}}}


@pytest.mark.parametrize(
    "recover", ["all", ["json-commas"], "json-commas, json-keys", "all,-json-keys", ["all", "-json-keys"]]
)
def test_a_call_is_recovered(recover):
    message = backchat.parse_response(OUTPUT, SPEC, prefix="<bot>", recover=recover)
    assert message == {"tool_calls": [CALL]}
    (problem,) = message.problems
    assert (problem["kind"], problem["call"], problem["recovered"]) == ("malformed", 0, ["json-commas"])


def test_the_message_is_a_dict_that_travels():
    message = backchat.parse_response(OUTPUT, SPEC, prefix="<bot>", recover="all")
    again = pickle.loads(pickle.dumps(message))
    assert again == message and again.problems == message.problems
    assert list(backchat.parse_response("Hi", SPEC, prefix="<bot>").problems) == []


def test_without_policies_it_is_malformed():
    with pytest.raises(backchat.ParseError, match="tool_calls"):
        backchat.parse_response(OUTPUT, SPEC, prefix="<bot>")
    message = backchat.parse_response(OUTPUT, SPEC, prefix="<bot>", errors="event")
    assert message.problems[0]["recoverable"] == ["json-commas"]


def test_streams_and_batches_take_policies():
    *events, last = backchat.stream([OUTPUT[:20], OUTPUT[20:]], SPEC, prefix="<bot>", recover="all")
    assert last["message"] == {"tool_calls": [CALL]}
    assert [event["recovered"] for event in events if event["type"] == "problem"] == [["json-commas"]]
    chunks = list(backchat.openai_chunks(iter([*events, last])))
    assert chunks[-1]["backchat"]["problems"][0]["kind"] == "malformed"
    assert all("backchat" not in chunk for chunk in chunks[:-1])
    rows = backchat.parse_batch(["Hi", OUTPUT], SPEC, prefix="<bot>", recover=["json-commas"])
    assert rows == [{"content": "Hi"}, {"tool_calls": [CALL]}] and not rows.errors
    assert rows.problems[1][0]["recovered"] == ["json-commas"] and 0 not in rows.problems


def test_arguments_are_checked_on_request():
    output = '<call>{"name": "pay", "arguments": {"sum": "ten"}}</call>'
    assert not backchat.parse_response(output, SPEC, prefix="<bot>", tools=TOOLS).problems
    (problem,) = backchat.parse_response(output, SPEC, prefix="<bot>", tools=TOOLS, validate=True).problems
    assert (problem["kind"], problem["path"], problem["reason"]) == ("invalid-arguments", "/sum", "type")


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"recover": "json-comma"}, ValueError, "there is no policy `json-comma`"),
        ({"recover": ["all", 5]}, TypeError, "a list of policies"),
        ({"recover": 5}, TypeError, "a list of policies"),
        ({"recover": "all", "mode": "reference"}, ValueError, "reference mode"),
    ],
)
def test_invalid_options(options, error, says):
    with pytest.raises(error, match=says):
        backchat.parse_response("Hi", SPEC, prefix="<bot>", **options)


def test_the_servers_plug_ins_take_policies_from_the_environment(monkeypatch):
    def calls():
        parser = ResponseParser(SPEC, "<bot>")
        parser.feed(OUTPUT)
        return parser.finalize()[0].get("tool_calls")

    assert calls() is None
    monkeypatch.setenv("BACKCHAT_RECOVER", "all")
    assert calls() == [CALL]
    monkeypatch.setenv("BACKCHAT_RECOVER", "everything")
    with pytest.raises(ValueError, match="there is no policy `everything`"):
        calls()


def test_a_policy_that_changes_the_models_own_answers_is_excluded(monkeypatch, caplog):
    """The chat template writes a word before calls that `outside-text` would take as content."""
    chat_template = (
        "{% for m in messages %}[{{ m.role }}]{% if m.content %}<say>{{ m.content }}</say>{% endif %}"
        "{% for call in m.tool_calls %}Calling <c>{{ call.function | tojson }}</c>{% endfor %}<end>{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    function = {"name": "{content.name}", "arguments": "{content.arguments}"}
    transform = {"type": "function", "function": function}
    template = {
        "start_anchor": "[assistant]",
        "fields": {
            "tool_calls": {"open": "<c>", "close": "</c>", "repeats": True, "content": "json", "transform": transform},
            "content": {"open": "<say>", "close": ["</say>", "<end>"]},
        },
    }

    tokenizer = SimpleNamespace(chat_template=chat_template, special_tokens_map={})

    def message():
        parser = ResponseParser(template, "[assistant]")
        parser.feed('Calling <c>{"name": "pay", "arguments": {"sum": 10,}}</c>')
        return parser.finalize()[0]

    monkeypatch.setenv("BACKCHAT_RECOVER", "all")
    assert message() == {"content": "Calling", "tool_calls": [CALL]}
    leave_out(tokenizer, template)
    assert message() == {"tool_calls": [CALL]}
    assert "left out, because they change answers in this model's own format: outside-text" in caplog.text
