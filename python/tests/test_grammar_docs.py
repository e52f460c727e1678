"""The snippets of docs/grammar.md, each with the engine it is for, which then judges outputs without a model."""

import json
import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/grammar.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)
TOOLS = re.findall(r"(?ms)^```json tools.json\n(.*?)^```$", PAGE)[0]
CALL = '<tool_call>\n{"name": "get_weather", "arguments": %s}\n</tool_call>'
#: Outputs, and whether the tools of the page allow them.
OUTPUTS = {
    CALL % '{"city": "Rome"}': True,
    CALL % '{"city": "Rome", "days": 3}': True,
    CALL % '{"city": "Rome", "days": 12}': False,
    CALL % '{"town": "Rome"}': False,
    CALL.replace("get_weather", "get_time") % '{"city": "Rome"}': False,
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the snippets that every engine needs and those that name this one, where there is a model; gives their names."""
    (tmp_path / "models/mine").mkdir(parents=True)
    shutil.copy(ROOT / "chat_templates/hermes.jinja", tmp_path / "models/mine/chat_template.jinja")
    (tmp_path / "tools.json").write_text(TOOLS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))

    def run(engine=None, **names):
        common, *others = SNIPPETS
        found = [snippet for snippet in others if engine and re.search(rf"(?m)^(import|from) {engine}\b", snippet)]
        assert len(found) == (engine is not None)
        Path("snippets.py").write_text("".join([common, *found]), encoding="utf-8")
        return runpy.run_path("snippets.py", init_globals=names)

    return run


def test_the_fields_for_llama_cpp(run):
    fields = run()["fields"]
    assert fields["grammar"].startswith("root ::= ") and fields["grammar_lazy"]
    # The numbers of llama.cpp's `common_grammar_trigger_type`.
    assert fields["grammar_triggers"] == [{"type": 1, "value": "<tool_call>"}]
    assert "<tool_call>" in fields["preserved_tokens"]


def test_xgrammar(run):
    xgrammar = pytest.importorskip("xgrammar")
    info = xgrammar.TokenizerInfo([bytes([byte]) for byte in range(256)] + ["<end>"], stop_token_ids=[256])
    names = run("xgrammar", tokenizer_info=info)
    for compiled in (names["compiler"].compile_grammar(names["backchat"]("--format", "ebnf")), names["compiled"]):
        for output, is_right in OUTPUTS.items():
            matcher = xgrammar.GrammarMatcher(compiled)
            assert (matcher.accept_string(output) and matcher.accept_token(256)) == is_right, output


def test_llguidance(run):
    llguidance = pytest.importorskip("llguidance")
    tokenizer = llguidance.LLTokenizer("byte")
    matcher = run("llguidance", tokenizer=tokenizer)["matcher"]
    assert not matcher.is_error(), matcher.get_error()
    for output, is_right in OUTPUTS.items():
        matcher.reset()
        tokens = tokenizer.tokenize_str(output)
        assert (matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()) == is_right, output


def test_vllm(run):
    pytest.importorskip("vllm")
    assert json.loads(run("vllm")["params"].structural_tag)["type"] == "structural_tag"
