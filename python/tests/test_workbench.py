"""The workbench's functions return the command's JSON."""

import doctest
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import backchat
import pytest
from test_tokens import CHAT, text_of_tokenizer

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "chat_templates"
MESSAGES = json.loads((ROOT / "examples/weather/messages.json").read_text())
TOOLS = json.loads((ROOT / "examples/weather/tools.json").read_text())


def command(*arguments):
    whole = [sys.executable, "-m", "backchat", *map(str, arguments)]
    output = subprocess.run(whole, check=False, capture_output=True, text=True)
    assert output.returncode in (0, 1), output.stderr
    return output.stdout


@pytest.mark.parametrize("name", ["hermes", "gemma_4", "kimi_k2"])
def test_the_command_prints_the_same(name):
    file = TEMPLATES / f"{name}.jinja"
    assert backchat.derive(file).report == json.loads(command("derive", "--format", "json", file))
    assert backchat.doctor(file) == json.loads(command("doctor", "--format", "json", file))
    assert backchat.input_schema(file) == json.loads(command("doctor", "--format", "json-schema", file))
    rendered = backchat.render(file, MESSAGES, tools=TOOLS, add_generation_prompt=True).text
    options = ("--messages", ROOT / "examples/weather/messages.json", "--tools", ROOT / "examples/weather/tools.json")
    assert rendered == command("render", file, *options, "--add-generation-prompt")
    grammar = json.loads(command("grammar", "-q", file, "--tools", ROOT / "examples/weather/tools.json", "--json"))
    assert backchat.grammar(file, TOOLS) == grammar


def test_the_command_prints_the_same_ids(tmp_path):
    (tmp_path / "tokenizer.json").write_text(text_of_tokenizer(), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<think>", "chat_template": CHAT}))
    (tmp_path / "chat.json").write_text(json.dumps([{"role": "user", "content": "<end><model>"}]))
    options = ("--messages", tmp_path / "chat.json", "--tokenizer", tmp_path)
    for words, sanitizes in (((), False), (("--sanitize-control-tokens",), True)):
        output = json.loads(command("render", tmp_path, *options, *words))
        messages = json.loads((tmp_path / "chat.json").read_text())
        rendered = backchat.render(tmp_path, messages, tokenizer=tmp_path, sanitize_control_tokens=sanitizes)
        assert output == rendered._asdict()
        row = {"id": 1, "context": {"messages": messages}, "tokenizer": str(tmp_path)}
        (tmp_path / "rows.jsonl").write_text(json.dumps(row))
        output = json.loads(command("render", tmp_path, "--jsonl", tmp_path / "rows.jsonl", *words))
        assert output == {"id": 1, **rendered._asdict()}


def test_a_row_may_have_the_model_s_special_tokens(tmp_path):
    (tmp_path / "tokenizer.json").write_text(text_of_tokenizer(), encoding="utf-8")
    (tmp_path / "t.jinja").write_text("{{ bos_token }}{{ eos_token }}")
    row = {"id": 1, "bos_token": "<user>", "eos_token": "<end>", "context": {"eos_token": "<end>"}}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    output = command(
        *("render", tmp_path / "t.jinja", "--jsonl", tmp_path / "rows.jsonl"),
        *("--tokenizer", tmp_path, "--sanitize-control-tokens"),
    )
    tokens = backchat.Tokenizer(tmp_path)
    assert json.loads(output)["token_ids"] == [*tokens.encode("<user>"), *map(ord, "<end>")]


def test_a_conversion_is_the_command_s(tmp_path):
    schema = {
        "x-regex": "^(?P<content>.*?)(?:<end>|$)",
        "type": "object",
        "properties": {"content": {"type": "string"}},
    }
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    output = command("convert", tmp_path / "schema.json", "--start-anchor", "[assistant]", "--format", "json")
    assert backchat.convert(schema, start_anchor="[assistant]").report == json.loads(output)


def test_a_derived_template_parses_its_chat_template_s_renders():
    text = (TEMPLATES / "qwen3.jinja").read_text()
    derivation = backchat.derive(text)
    assert derivation.status == "proved" and derivation.proved == derivation.total > 0
    assert derivation.evidence.startswith("# ") and derivation.failures == []
    template = derivation.response_template
    assert template is not None and backchat.prove(template, text).status == "proved"
    answer = {"role": "assistant", "content": "Yes."}
    prompt = backchat.render(text, MESSAGES, add_generation_prompt=True).text
    whole = backchat.render(text, [*MESSAGES, answer]).text
    assert backchat.parse_response(whole[len(prompt) :], template, prefix=prompt) == answer
    masked = backchat.mask(text, [*MESSAGES, answer], offsets=[[0, len(prompt)], [len(prompt), len(whole)]])
    assert masked.mask == [0, 1] and masked.text == whole
    assert backchat.unrender(text, whole).messages == [*MESSAGES, answer]
    blocks = backchat.add_generation_blocks(text)
    assert blocks.proof > 0 and backchat.render(blocks.chat_template, [*MESSAGES, answer]).text == whole


def test_fixtures_are_checked():
    report = backchat.check(ROOT / "tests/fixtures/formats/hermes.fixture")
    assert report.ok and report.passed > 5


def test_a_single_name_is_no_list_of_letters():
    chat = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}"
    messages = [{"role": "assistant", "content": "Yes."}]
    assert backchat.mask(chat, messages, parts="content") == backchat.mask(chat, messages, parts=["content"])
    assert backchat.fix(chat, "parts") == backchat.fix(chat, ["parts"])
    with pytest.raises(ValueError, match="unknown part `contents`"):
        backchat.mask(chat, messages, parts="contents")


def test_offsets_may_be_an_array():
    numpy = pytest.importorskip("numpy")
    chat = "{% for m in messages %}{{ m.content }}{% endfor %}"
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}]
    offsets = [[0, 2], [2, 6]]
    assert backchat.mask(chat, messages, offsets=numpy.array(offsets)) == backchat.mask(chat, messages, offsets=offsets)


def test_lint_and_load_errors():
    found = backchat.lint({"start_anchor": "a", "fields": {"x": {"open": "<x>", "close": "</x>", "content": "json"}}})
    assert all(problem.id and problem.message for problem in found)
    with pytest.raises(backchat.TemplateError, match=":3: "):
        backchat.render("\n\n{% if %}", [])
    with pytest.raises(backchat.TemplateError, match="no/such"):
        backchat.derive("no/such/folder")
    with pytest.raises(ValueError, match="no target"):
        backchat.derive("{{ messages }}", target="nobody")


@pytest.mark.parametrize(
    ("module", "needs"),
    [
        ("backchat", "backchat"),
        ("backchat._functions", "backchat"),
        ("backchat._stream", "backchat"),
        ("backchat._workbench", "backchat"),
        ("backchat.aio", "backchat"),
        ("backchat.arrow", "pyarrow"),
    ],
)
def test_the_examples_of_docstrings(module, needs):
    pytest.importorskip(needs)
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0 and found.failed == 0


def test_the_command_returns_its_exit_code(tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    (tmp_path / "wrong.json").write_text('{"start_anchor": "<bot>", "fields": {"content": {}}}')
    wrong = ["prove", "wrong.json", "--chat-template", str(TEMPLATES / "hermes.jinja")]
    for arguments, code in ((["--version"], 0), (wrong, 1), (["lint", "bad.json"], 2)):
        arguments = [sys.executable, "-m", "backchat", *arguments]
        assert subprocess.run(arguments, check=False, capture_output=True, cwd=tmp_path).returncode == code, arguments
