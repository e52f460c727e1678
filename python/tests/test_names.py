"""One rule for names: every function accepts the sources that the command accepts."""

import json
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path

import backchat
import pytest
from test_tokens import text_of_tokenizer

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "chat_templates/qwen3.jinja").read_text(encoding="utf-8")
SPEC = json.loads((ROOT / "derived/qwen3.json").read_text(encoding="utf-8"))
SCHEMA = {"x-regex": "^(?P<content>.*?)(?:<end>|$)", "type": "object", "properties": {"content": {"type": "string"}}}
MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}]


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """A folder with every kind of source: files, a model folder, a model in the cache."""
    cached = tmp_path / "hub/models--org--mine/snapshots/1"
    config = json.dumps({"chat_template": TEXT, "response_template": SPEC, "eos_token": "<|im_end|>"})
    for folder in (cached, tmp_path / "model"):
        folder.mkdir(parents=True)
        (folder / "tokenizer_config.json").write_text(config, encoding="utf-8")
        tokenizer = text_of_tokenizer(["<|im_start|>", "<|im_end|>"])
        (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    files = {
        "chat.jinja": TEXT,
        "spec.json": json.dumps(SPEC),
        "odd{name}.jinja": TEXT,
        "odd{name}.json": json.dumps(SPEC),
        "schema.json": json.dumps(SCHEMA),
        "outputs.jsonl": json.dumps({"id": "one", "text": "Yes.<|im_end|>", "message": {"content": "No."}}),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


#: What takes a chat template, and what it gives of it.
CHAT_TEMPLATES = {
    "derive": lambda given: backchat.derive(given).response_template,
    "prove": lambda given: backchat.prove(SPEC, given).status,
    "render": lambda given: backchat.render(given, MESSAGES).text,
    "mask": lambda given: backchat.mask(given, MESSAGES).spans,
    "doctor": lambda given: backchat.doctor(given)["capabilities"],
    "input_schema": lambda given: backchat.input_schema(given)["properties"],
    "unrender": lambda given: backchat.unrender(given, backchat.render(TEXT, MESSAGES).text).messages,
    "add_generation_blocks": lambda given: backchat.add_generation_blocks(given).chat_template,
    "fix": lambda given: backchat.fix(given).text,
    "grammar": lambda given: backchat.grammar(given)["grammar"],
    "Grammar": lambda given: backchat.Grammar(given).for_request()["grammar"],
    "Bridge": lambda given: backchat.Bridge(given, "model", SPEC).read([], []),
    "convert": lambda given: backchat.convert(SCHEMA, chat_template=given).response_template,
    "lint": lambda given: {found.id for found in backchat.lint(given)},
}


def parser(given):
    """The message of a parser."""
    made = backchat.ResponseParser(given, prefix="<|im_start|>assistant\n")
    made.feed("Yes.<|im_end|>")
    return made.finalize()[0]


#: What takes a response template.
RESPONSE_TEMPLATES = {
    "Template": lambda given: backchat.Template(given).to_dict(),
    "parse_response": lambda given: backchat.parse_response("Yes.", given, prefix="<|im_start|>assistant\n"),
    "parse_batch": lambda given: list(backchat.parse_batch(["Yes."], given, prefix="<|im_start|>assistant\n")),
    "ResponseParser": parser,
    "prove": lambda given: backchat.prove(given, TEXT).status,
    "lint": lambda given: {found.id for found in backchat.lint(given, target="vllm")},
    "Grammar": lambda given: backchat.Grammar(given).template.to_dict(),
    "response_template": lambda given: backchat.Grammar(TEXT, response_template=given).template.to_dict(),
    "Bridge": lambda given: backchat.Bridge(TEXT, "model", given).read([], []),
}


@pytest.mark.parametrize("function", CHAT_TEMPLATES)
def test_a_chat_template_is_named_the_same_everywhere(function):
    call = CHAT_TEMPLATES[function]
    for given in ("chat.jinja", Path("chat.jinja"), Path("odd{name}.jinja")):
        assert call(given) == call(TEXT), given
    assert call(Path("model")) == call("model") == call("org/mine")


@pytest.mark.parametrize("function", RESPONSE_TEMPLATES)
def test_a_response_template_is_named_the_same_everywhere(function):
    call = RESPONSE_TEMPLATES[function]
    given = ["spec.json", Path("spec.json"), Path("odd{name}.json"), json.dumps(SPEC), backchat.Template(SPEC)]
    # A model also has a chat template, which these three prefer or examine as well.
    given += ["model", Path("model"), "org/mine"] if function not in ("lint", "Grammar") else []
    for one in given:
        assert call(one) == call(SPEC), one


@pytest.mark.parametrize("function", [*CHAT_TEMPLATES, *RESPONSE_TEMPLATES])
def test_the_error_for_an_unknown_name_lists_what_was_tried(function):
    call = CHAT_TEMPLATES.get(function) or RESPONSE_TEMPLATES[function]
    told = {
        "nowhere": "nowhere: there is no file or folder of this name; "
        "a str with neither `{` nor a line break is a name, not text",
        Path("odd{nowhere}"): "odd{nowhere}: there is no file or folder of this name$",
        "org/none": "org/none: there is no file of this name, and no such model in the cache .*hub; a str with neither",
    }
    for given, message in told.items():
        with pytest.raises(backchat.TemplateError, match=message):
            call(given)
    with pytest.raises(TypeError, match=r"is a (str|dict).* not int"):
        call(3)


def test_open_takes_only_names():
    assert backchat.Template.open("odd{name}.json") == backchat.Template(SPEC)
    with pytest.raises(backchat.TemplateError, match="no file or folder"):
        backchat.Template.open(json.dumps(SPEC))


def test_other_names():
    assert backchat.Tokenizer("model").encode("<|im_end|>") == backchat.Tokenizer(Path("model")).encode("<|im_end|>")
    row = json.loads(Path("outputs.jsonl").read_text(encoding="utf-8"))
    for samples in ("outputs.jsonl", Path("outputs.jsonl"), [row]):
        proof = backchat.prove(SPEC, TEXT, samples=samples)
        warnings = [found["message"] for found in proof.report["diagnostics"] if found["severity"] == "warning"]
        assert proof.status == "partial" and warnings[0].startswith("one: not explained from byte 0")
    for schema in ("schema.json", Path("schema.json"), json.dumps(SCHEMA), SCHEMA):
        assert backchat.convert(schema, start_anchor="[bot]").status == "proved"
    assert {found.id for found in backchat.lint(SCHEMA)} == {found.id for found in backchat.lint("schema.json")}
    for call in (backchat.Tokenizer, backchat.check, lambda given: backchat.derive("model", samples=given)):
        with pytest.raises(backchat.TemplateError):
            call("nowhere")


def test_prove_reports_swapped_arguments():
    with pytest.raises(TypeError, match="a chat template is a str or a path, not dict"):
        backchat.prove(TEXT, SPEC)


def test_one_of_several_chat_templates_is_selected():
    several = [{"name": "default", "template": "{{ 'one' }}"}, {"name": "tool_use", "template": "{{ 'two' }}"}]
    Path("several.json").write_text(json.dumps({"chat_template": several}), encoding="utf-8")
    assert backchat.render("several.json", []).text == "one"
    assert backchat.render("several.json", [], tools=[]).text == "two"
    assert backchat.render("several.json", [], template_name="tool_use").text == "two"
    with pytest.raises(backchat.TemplateError, match="no chat template named `other`"):
        backchat.render("several.json", [], template_name="other")
    with pytest.raises(ValueError, match="not from text"):
        backchat.render("{{ 'one' }}", [], template_name="default")


def test_special_tokens_come_from_files_next_to_a_template():
    template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}{% endfor %}"
    template += "{% if add_generation_prompt %}[assistant]{% endif %}"
    Path("model/chat.jinja").write_text(template, encoding="utf-8")
    derived = backchat.derive("model/chat.jinja").response_template
    assert derived is not None and derived["fields"]["content"]["close_pattern"].startswith("<\\|im_end\\|>")
    assert backchat.prove(derived, "model/chat.jinja").status == "proved"


def test_a_suite_is_checked_as_by_the_command():
    fixtures = ROOT / "tests/fixtures/formats"
    one, two = fixtures / "hermes.fixture", str(fixtures / "kimi_k2.fixture")
    counts = [backchat.check(one).passed, backchat.check(two).passed]
    assert min(counts) > 0 and backchat.check(one, two).passed == sum(counts)
    none = backchat.check(one, filter="no such case")
    assert (none.passed, none.ok) == (0, False)
    other = {"start_anchor": "nothing", "fields": {"content": {}}}
    assert not backchat.check(one, template=other).ok
    Path("other.json").write_text(json.dumps(other), encoding="utf-8")
    assert backchat.check(one, template="other.json")[:3] == backchat.check(one, template=other)[:3]
    assert backchat.check() == backchat.check(".")


#: The functions that are commands, by their names.
COMMANDS = {
    "derive": "derive",
    "prove": "prove",
    "lint": "lint",
    "render": "render",
    "doctor": "doctor",
    "unrender": "unrender",
    "fix": "fix",
    "grammar": "grammar",
    "convert": "convert",
    "check": "check",
}


@pytest.mark.parametrize("function", COMMANDS)
def test_the_docstring_matches_the_help(function):
    def flat(text):
        return " ".join(text.split())

    help = subprocess.run(
        [sys.executable, "-m", "backchat", COMMANDS[function], "-h"], check=True, capture_output=True, text=True
    ).stdout
    called = getattr(backchat, function)
    doc = called.__doc__
    assert flat(help).startswith(doc.splitlines()[0].removesuffix("."))
    told = dict(re.findall(r"(?ms)^    - `(\w+)`: (.*?)(?=^    - `|^$|\Z)", doc))
    assert set(told) == set(signature(called).parameters)
    # The same words, except for the command line's own: repeating an option, or NAME=VALUE.
    same = {"samples", "reasoning_field", "template_name", "thorough", "start_anchor", "filter", "template", "target"}
    for name in same & set(told):
        option = f"--{name.replace('_', '-')} "
        if option in help:
            first = re.split(r"[.;:] ", flat(told[name]).rstrip("."))[0]
            assert first in flat(help), (function, name)
