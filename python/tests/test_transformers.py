"""Compares with the installed transformers: the same messages and events."""

import subprocess
import sys
from types import ModuleType
from typing import Any, ClassVar

import backchat
import pytest
from test_parser import MESSAGE, OUTPUT, SPEC

transformers = pytest.importorskip("transformers", minversion="5.13")


@pytest.fixture
def patched():
    import backchat.integrations.transformers as integration

    integration.patch(mode="reference")
    yield integration
    integration.unpatch()


def events(parser, pieces):
    found = list(parser.initial_events)
    for piece in pieces:
        found += parser.feed(piece)
    message, last = parser.finalize()
    return message, found + last


def test_it_answers_as_transformers_does(patched):
    from transformers.utils.chat_parsing import response_parser

    theirs = next(before for ours, before in patched._before if ours is patched.ResponseParser)
    assert response_parser.ResponseParser is patched.ResponseParser is not theirs
    for pieces in ([OUTPUT], list(OUTPUT)):
        ours = events(response_parser.ResponseParser(SPEC, prefix="<bot>"), pieces)
        assert ours == events(theirs(SPEC, prefix="<bot>"), pieces)
    assert response_parser.parse_response(OUTPUT, SPEC, prefix="<bot>") == MESSAGE


def test_a_template_that_transformers_loaded(patched):
    from transformers.utils.chat_parsing.response_templates import load_response_template

    assert patched.parse_response(OUTPUT, load_response_template(SPEC), prefix="<bot>") == MESSAGE


def test_tools_are_functions_or_dicts():
    def f(a: int):
        """
        Finds one.

        Args:
            a: Which.
        """

    call = '<call>{"name": "f", "args": {"a": "7"}}</call>'
    message = backchat.parse_response(call, SPEC, prefix="<bot>", tools=[f])
    assert message["tool_calls"][0]["function"]["arguments"] == {"a": 7}


def test_unpatch_restores_everything(patched):
    from transformers.utils import chat_parsing

    patched.unpatch()
    patched.unpatch()
    assert chat_parsing.ResponseParser is not patched.ResponseParser
    with pytest.raises(ValueError, match="stable"):
        patched.patch(mode="fast")


def test_unpatch_restores_modules_imported_meanwhile(patched, monkeypatch):
    from transformers.utils import chat_parsing

    late: Any = ModuleType("transformers.late")
    monkeypatch.setitem(sys.modules, late.__name__, late)
    late.ResponseParser, late.parse_response = chat_parsing.ResponseParser, chat_parsing.parse_response
    assert late.ResponseParser is patched.ResponseParser
    patched.unpatch()
    assert late.ResponseParser is chat_parsing.ResponseParser is not patched.ResponseParser
    assert late.parse_response is chat_parsing.parse_response


def test_transformers_serve_gets_one_call_per_region(patched, monkeypatch):
    serving: Any = ModuleType(patched.SERVING)
    taken: list[Any] = []
    serving.ResponseParser, serving.response_events_to_chunks = None, taken.extend
    monkeypatch.setitem(sys.modules, patched.SERVING, serving)
    calls = [{"function": {"name": name, "arguments": {}}} for name in "fg"]
    whole = {"type": "region_close", "field": "tool_calls", "value": calls}
    # It is imported after `patch()`: the first parser finds it.
    patched.ResponseParser(SPEC, prefix="<bot>")
    serving.response_events_to_chunks([{"type": "region_open", "field": "tool_calls"}, whole])
    assert [event.get("value") for event in taken] == [None, *calls]
    patched.unpatch()
    taken.clear()
    serving.response_events_to_chunks([whole])
    assert taken == [whole]


def test_the_launcher_runs_the_command_of_transformers():
    command = [sys.executable, "-m", "backchat.integrations.transformers", "version"]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert transformers.__version__ in run.stdout, run.stderr


def test_a_tokenizer_gets_the_derived_template():
    from backchat.integrations.transformers import NotProved, add_response_template

    class Tokenizer:
        response_template = None
        special_tokens_map: ClassVar = {"eos_token": "<end>"}
        chat_template = (
            "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}"
        )

    tokenizer = add_response_template(Tokenizer())
    assert backchat.parse_response("Yes.<end>", tokenizer.response_template, prefix="[assistant]")["content"] == "Yes."
    whole = Tokenizer.chat_template
    for chat_template, why in (
        ("{{ messages | length }}", "failed: this chat template does not render"),
        (
            whole.replace("m.content", "m.content[:3]"),
            r"partial: \d+ of \d+ generated conversations parse back exactly; first",
        ),
    ):
        Tokenizer.chat_template = chat_template
        with pytest.raises(NotProved, match=why) as raised:
            add_response_template(Tokenizer())
        assert raised.value.derivation.status == why.partition(":")[0]
