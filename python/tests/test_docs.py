"""Runs the snippets of docs/python.md unchanged, one after another."""

import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import backchat
import pytest
from test_tokens import text_of_tokenizer

ROOT = Path(__file__).parents[2]
SNIPPETS = re.findall(r"(?ms)^```python\n(.*?)^```$", (ROOT / "docs/python.md").read_text(encoding="utf-8"))
CHAT_TEMPLATE = (ROOT / "chat_templates/qwen3.jinja").read_text(encoding="utf-8")
ANSWER = {"role": "assistant", "content": "Yes."}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs snippets next to a model folder, with the names that they use; returns the names that they define."""
    (tmp_path / "model").mkdir()
    spec = backchat.derive(CHAT_TEMPLATE).response_template
    config = {"chat_template": CHAT_TEMPLATE, "response_template": spec}
    (tmp_path / "model/tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "model/tokenizer.json").write_text(text_of_tokenizer(["<|im_start|>", "<|im_end|>"]), encoding="utf-8")
    tokens = backchat.Tokenizer(tmp_path / "model")
    messages = [{"role": "user", "content": "Is it?"}, ANSWER]
    prompt = backchat.render(CHAT_TEMPLATE, messages[:1], add_generation_prompt=True).text
    whole = backchat.render(CHAT_TEMPLATE, messages).text
    output = whole[len(prompt) :]
    given = {
        "messages": messages,
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
        "prompt": prompt,
        "output": output,
        "pieces": list(output),
        "texts": [output] * 3,
        "prompts": [prompt] * 3,
        "offsets": [[0, len(prompt)], [len(prompt), len(whole)]],
        "prompt_ids": tokens.encode(prompt),
        "ids": tokens.encode(output),
        "eos": tokens.encode("<|im_end|>")[0],
        "tokenizer": SimpleNamespace(chat_template=CHAT_TEMPLATE),
    }

    def run(snippets):
        (tmp_path / "snippets.py").write_text("\n".join(snippets), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        return runpy.run_path("snippets.py", init_globals=given)

    return run


def test_the_snippets(run):
    # TRL's are in test_trl.py, with a model.
    names = run(snippet for snippet in SNIPPETS if "integrations" not in snippet and "SFTTrainer" not in snippet)
    assert names["message"] == ANSWER and names["event"] == {"type": "message", "message": ANSWER}
    assert [json.loads(row) for row in names["rows"]] == [ANSWER] * 3
    assert names["made"]["format"] == "lark"
    assert names["derivation"].status == "proved" and names["masked"].mask == [0, 1]


def test_the_snippet_for_transformers(run):
    pytest.importorskip("transformers", minversion="5.13")
    from backchat.integrations.transformers import unpatch

    try:
        names = run(snippet for snippet in SNIPPETS if "integrations.transformers" in snippet)
    finally:
        unpatch()
    assert names["tokenizer"].response_template == backchat.derive(CHAT_TEMPLATE).response_template
