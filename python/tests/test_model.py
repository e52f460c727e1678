"""The plug-ins' models: a cached response template, and grammars that are built once."""

import json
import logging
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import backchat
import pytest
from backchat.integrations import _model

CHAT_TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}<t>{{ m.reasoning_content }}</t>{% endif %}"
    "{{ m.content or '' }}{% for call in m.tool_calls or [] %}<call>{{ call.function | tojson }}</call>{% endfor %}<end>"
    "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


class Tokenizer:
    response_template: Any

    def __init__(self, chat_template=CHAT_TEMPLATE):
        self.chat_template, self.special_tokens_map, self.init_kwargs = chat_template, {"eos_token": "<end>"}, {}


def derived(**options):
    template = backchat.derive(CHAT_TEMPLATE, **options).response_template
    assert template is not None
    return template


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BACKCHAT_CACHE", str(tmp_path))
    _model._derived.cache_clear()
    return tmp_path


def test_a_derived_template_is_cached_and_reported(cache, caplog, monkeypatch):
    for start in range(2):
        tokenizer = Tokenizer()
        with caplog.at_level(logging.WARNING):
            _model.prepare(tokenizer, "vllm")
        assert set(tokenizer.response_template["fields"]) == {"thinking", "tool_calls", "content"}
        (line,) = [record.getMessage() for record in caplog.records]
        assert "generated conversations parse back exactly; the format loses nothing" in line
        assert len(list(cache.iterdir())) == 1
        # The next start finds it.
        caplog.clear()
        _model._derived.cache_clear()
        monkeypatch.setattr(backchat, "derive", None)


def test_an_unwritable_folder_costs_only_time(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("BACKCHAT_CACHE", str(tmp_path / "file" / "below"))
    _model._derived.cache_clear()
    tokenizer = Tokenizer()
    _model.prepare(tokenizer, "sglang")
    assert tokenizer.response_template["start_anchor"] == "[assistant]"


def test_a_truncated_file_is_derived_again(cache):
    _model.prepare(Tokenizer(), "vllm")
    (kept,) = cache.iterdir()
    kept.write_text(kept.read_text()[:40])
    _model._derived.cache_clear()
    _model.prepare(Tokenizer(), "vllm")
    assert json.loads(kept.read_text())["response_template"]


def test_the_model_s_own_template_is_kept(cache):
    tokenizer = Tokenizer()
    tokenizer.init_kwargs["response_template"] = own = {"start_anchor": "[assistant]", "fields": {"content": {}}}
    _model.prepare(tokenizer, "vllm")
    assert not hasattr(tokenizer, "response_template") and _model.template_of(tokenizer) is own
    assert not list(cache.iterdir())


@pytest.mark.parametrize(("chat_template", "why"), [("{{ messages | length }}", "failed"), (None, "neither")])
def test_a_model_that_cannot_be_served_is_refused(cache, chat_template, why):
    with pytest.raises(ValueError, match=why):
        _model.prepare(Tokenizer(chat_template), "vllm")


def test_grammars_of_a_model_are_built_once():
    tokenizer = Tokenizer()
    template = derived()
    first = _model.grammar_of(tokenizer, template)
    assert first is _model.grammar_of(Tokenizer(), dict(template))
    assert first.template.to_dict() == backchat.Template(template).to_dict()


def test_a_grammar_keeps_the_template_and_names_the_tokens_of_a_folder(tmp_path):
    own = derived(reasoning_field="thinking")
    tokens = {"7": {"content": "<call>", "special": True}, "8": {"content": "</call>", "special": True}}
    config = {"chat_template": CHAT_TEMPLATE, "response_template": own, "added_tokens_decoder": tokens}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    grammar = backchat.Grammar(tmp_path)
    assert grammar.template == backchat.Template(own)
    made = grammar.for_request(TOOLS, tool_choice="required", format="lark")
    assert made["special_tokens"] == ["<call>", "</call>"]
    named = backchat.Grammar(CHAT_TEMPLATE, response_template=own, special_tokens={"<call>": 7, "</call>": 8})
    assert named.for_request(TOOLS, tool_choice="required", format="lark")["grammar"] == made["grammar"]
    assert backchat.grammar(tmp_path, TOOLS, tool_choice="required", format="lark") == made


def test_errors_of_grammars():
    grammar = backchat.Grammar(CHAT_TEMPLATE)
    with pytest.raises(backchat.TemplateError, match="not among the tools"):
        grammar.for_request(TOOLS, tool_choice="g")
    with pytest.raises(ValueError, match="`format` is"):
        grammar.for_request(TOOLS, format="yaml")
    with pytest.raises(ValueError, match="`reasoning` is"):
        grammar.for_request(TOOLS, reasoning="maybe")  # type: ignore[arg-type]
    with pytest.raises(backchat.TemplateError):
        backchat.Grammar("{{ messages | length }}")
    assert backchat.Grammar(grammar.template).for_request(TOOLS)["grammar"]


def test_a_grammar_of_a_derivation_that_is_not_proved_warns():
    with pytest.warns(
        UserWarning, match="the derived response template is partial: .*`eos_token`, which was not given"
    ):
        backchat.Grammar(CHAT_TEMPLATE.replace("<end>", "{{ eos_token }}"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backchat.Grammar(CHAT_TEMPLATE)


def test_no_server_is_imported():
    code = "import backchat.integrations._model, sys; print([m for m in sys.modules if m.split('.')[0] in ('vllm', 'sglang', 'transformers')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    assert Path(_model.__file__).is_file()


def test_a_grammar_of_a_whole_request():
    grammar = backchat.Grammar(CHAT_TEMPLATE)
    body = {"messages": [{"role": "user", "content": "Hi"}], "response_format": {"type": "json_object"}}
    made = grammar.for_request(request=body)
    assert "Hi" in made["prompt"] and made["lazy"] is False
    assert grammar.for_request(request=body, prompt=made["prompt"])["grammar"] == made["grammar"]
    with pytest.raises(ValueError, match="`request` has tools"):
        grammar.for_request(TOOLS, request=body)
    with pytest.raises(backchat.TemplateError, match="`/regex` is a grammar of its own"):
        grammar.for_request(request={"regex": "a"})
