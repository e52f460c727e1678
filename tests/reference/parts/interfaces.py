"""Names of the reference and the clients, asked of their code: a new one is found even where no case uses it."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

from .. import ours
from ..oracle import limited
from ..report import Difference, Result
from . import Options

LISTED = Path(__file__).parents[1] / "interfaces.json"
#: No key has this name.
NONSENSE = "no_such_name"


def named(feature: str, theirs: Iterable[str], ours: Iterable[str], *, where: str) -> Iterator[Difference]:
    """A difference for each name that one side has and the other has not."""
    theirs, known = list(theirs), set(ours)
    for name in theirs:
        if name not in known:
            yield Difference(feature, f"`{name}` is new: {where} does not have it")
    for name in sorted(known - set(theirs)):
        yield Difference(feature, f"`{name}` is gone: {where} has it, and their code does not")


# The format of response templates, by what the reference's loader and parsers do.


def refusal(spec: dict[str, Any]) -> str:
    from transformers.utils.chat_parsing import ResponseParser

    try:
        ResponseParser(spec, prefix="")
    except Exception as error:  # noqa: BLE001
        return str(error)
    return ""


def template(**keys: Any) -> dict[str, Any]:
    return {"start_anchor": "<a>", "fields": {"v": {"open": "<x>"}}, **keys}


def in_field(**keys: Any) -> dict[str, Any]:
    return template(fields={"v": {"open": "<x>", **keys}})


def words() -> set[str]:
    """Every text in the reference's sources that could be a key."""
    import transformers.utils.chat_parsing as package

    found = set()
    for file in Path(str(package.__file__)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and re.fullmatch(r"[a-z_]{2,40}", str(node.value)):
                found.add(str(node.value))
    return found


def keys(made: Callable[..., dict[str, Any]]) -> list[str]:
    """The words that are not refused as a key that has no meaning is."""
    unknown = refusal(made(**{NONSENSE: None}))
    assert NONSENSE in unknown, f"a template with an unknown key is not refused: {unknown!r}"
    return [word for word in sorted(words()) if refusal(made(**{word: None})) != unknown.replace(NONSENSE, word)]


def content_parsers() -> list[str]:
    """The names in the refusal of a content parser that there is not."""
    words = refusal(in_field(content=NONSENSE))
    names = re.findall(r"'([\w-]+)'", words.partition("Available")[2])
    assert "text" in names, f"the refusal does not list the content parsers: {words!r}"
    return names


class Asked(dict[str, Any]):
    """A mapping that keeps the keys it is asked for."""

    def __init__(self, values: dict[str, Any], keys: set[str]):
        super().__init__(values)
        self.asked = keys

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)


BODIES = ["", "5", "{a:1}", "{", "<a>1<a>2", "k: v\nk: w", "[f(a=1)]", "so"]
VALUES = [True, "so", [["'", "'"]], r"<(?P<key>\w)>(?P<value>[^<])", {"name": "text"}]


def arguments(parser: str) -> set[str]:
    """The keys that a content parser asks its arguments for, whatever bodies and values it is given."""
    asked: set[str] = set()
    tried: set[tuple[str, int]] = set()
    given: dict[str, Any] = {}
    while True:
        for body in BODIES:
            parsed(in_field(close="</x>", content=parser, content_args=Asked(given, asked)), f"<x>{body}</x>")
        more = [(key, at) for key in sorted(asked) for at in range(len(VALUES)) if (key, at) not in tried]
        if not more:
            return asked
        tried.add(more[0])
        given = {**given, more[0][0]: VALUES[more[0][1]]}


def parsed(spec: dict[str, Any], text: str, tools: Any = None) -> None:
    from transformers.utils.chat_parsing import parse_response

    try:
        with limited():
            parse_response(text, spec, prefix="", tools=tools)
    except Exception:  # noqa: BLE001, S110
        pass  # Only what it asked for counts.


def schema_keywords() -> set[str]:
    """The keys that the reference asks the schema of an argument for."""
    asked: set[str] = set()
    call = {"function": {"name": "f", "arguments": {"a": "5"}}}
    schemas: list[dict[str, Any]] = [{}, {"type": "integer"}, {"anyOf": [{}]}, {"nullable": True}]
    for schema in schemas:
        parameters = {"properties": {"a": Asked(schema, asked)}}
        tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
        parsed(in_field(close="</x>", content="json"), f"<x>{json.dumps(call)}</x>", tools)
    return asked


def format_differences(options: Options) -> Iterator[Difference]:
    """The format as the reference reads it, compared with `backchat schema`."""
    schema = json.loads(ours.run(options.binary, "schema").stdout)
    field, value_parser = (schema["definitions"][name]["properties"] for name in ("field", "valueParser"))
    compare = {"where": "`backchat schema`"}
    parsers = content_parsers()
    yield from named("content parsers", parsers, field["content"]["enum"], **compare)
    yield from named("keys of a template", keys(template), schema["properties"], **compare)
    yield from named("keys of a field", keys(in_field), field, **compare)
    for parser in parsers:
        if known := schema["definitions"].get(f"arguments-{parser}"):
            yield from named(f"arguments of `{parser}`", arguments(parser), known["properties"], **compare)
    asked: set[str] = set()
    args = {"tag_pattern": VALUES[3], "value_parser": Asked({"name": "text"}, asked)}
    parsed(in_field(close="</x>", content="xml-inline", content_args=args), "<x><a>1</x>")
    yield from named("keys of a `value_parser`", asked, value_parser, **compare)


# The dialect of chat templates, by the names of its environment.


#: What Backchat leaves out (COMPATIBILITY.md, Rendering a chat template).
LEFT_OUT = {"lipsum"}


def dialect_differences(options: Options) -> Iterator[Difference]:
    """Names of the reference's environment that Backchat's renderer does not have."""
    from transformers.utils.chat_template_utils import _compile_jinja_template

    environment = _compile_jinja_template("").environment
    probes = {
        "global": (environment.globals, "{{% if {0} is not defined %}}{{{{ 1 / 0 }}}}{{% endif %}}"),
        "filter": (environment.filters, "{{% if false %}}{{{{ 1 | {0} }}}}{{% endif %}}"),
        "test": (environment.tests, "{{% if false and 1 is {0}(1) %}}{{% endif %}}"),
    }
    with tempfile.TemporaryDirectory() as folder, closing(ours.Renders(options.binary, Path(folder))) as renders:
        for kind, (names, probe) in probes.items():
            for name in sorted(name for name in names.keys() - LEFT_OUT if name.isidentifier()):
                renders.open(probe.format(name))
                answer = renders.render({"messages": []})
                if "error" in answer:
                    yield Difference(
                        "names in chat templates", f"the {kind} `{name}` is new", ours=json.dumps(answer["error"])
                    )


# Interfaces that Backchat has no code of its own for, by their names in interfaces.json.


def parameters(*functions: Any) -> list[str]:
    found = [name for function in functions for name in inspect.signature(function).parameters if name != "self"]
    return list(dict.fromkeys(found))


def tokenizer_keys() -> list[str]:
    """The keys that a tokenizer takes out of its configuration."""
    from transformers import PreTrainedTokenizerBase

    source = inspect.cleandoc("\n" + inspect.getsource(PreTrainedTokenizerBase.__init__))
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    taken = [call.args[0] for call in calls if re.fullmatch(r"kwargs\.(pop|get)", ast.unparse(call.func))]
    return list(dict.fromkeys(str(key.value) for key in taken if isinstance(key, ast.Constant)))


def functions(file: Path) -> list[str]:
    """The public functions of a module, by its source."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]


def members(path: str) -> list[str]:
    """The members of a type of a client."""
    module, _, name = path.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    return list(getattr(kind, "model_fields", None) or kind.__annotations__)


def blocks() -> list[str]:
    import anthropic.types

    union = get_args(anthropic.types.ContentBlock)[0]
    return [get_args(block.model_fields["type"].annotation)[0] for block in get_args(union)]


def interfaces(options: Options) -> dict[str, Callable[[], Iterable[str]]]:
    """How to ask for the names of each interface that is listed."""

    def chat_templates(kind: str) -> list[str]:
        return parameters(getattr(importlib.import_module("transformers"), kind).apply_chat_template)

    def parsing() -> list[str]:
        chat_parsing = importlib.import_module("transformers.utils.chat_parsing")
        return parameters(chat_parsing.ResponseParser.__init__, chat_parsing.parse_response)

    return {
        "parameters of transformers' `apply_chat_template`": lambda: chat_templates("PreTrainedTokenizerBase"),
        "parameters of transformers' `apply_chat_template` for processors": lambda: chat_templates("ProcessorMixin"),
        "parameters of transformers' `ResponseParser` and `parse_response`": parsing,
        "keys of a tokenizer's configuration": tokenizer_keys,
        "keys that transformers' types of arguments read in a tool's schema": schema_keywords,
        "functions of TRL's `chat_template_utils`": lambda: functions(
            options.sources / "trl" / "chat_template_utils.py"
        ),
        "members of OpenAI's chat completion request": lambda: members(
            "openai.types.chat.completion_create_params.CompletionCreateParamsBase"
        ),
        "members of OpenAI's message": lambda: members("openai.types.chat.ChatCompletionMessage"),
        "members of OpenAI's delta": lambda: members("openai.types.chat.chat_completion_chunk.ChoiceDelta"),
        "blocks of an Anthropic message": blocks,
    }


def run(options: Options) -> Result:
    listed = json.loads(LISTED.read_text(encoding="utf-8"))
    asked = interfaces(options)
    assert listed.keys() == asked.keys(), f"only on one side: {listed.keys() ^ asked.keys()}"
    result = Result(f"The format of response templates, the names in chat templates, and {len(asked)} interfaces.")

    def take(what: str, found: Callable[[], Iterable[Difference]]) -> None:
        try:
            result.differences += found()
        except Exception as error:  # noqa: BLE001
            result.failures.append(f"{what}: {type(error).__name__}: {error}")

    take("the format", lambda: format_differences(options))
    take("the dialect", lambda: dialect_differences(options))
    for name, ask in asked.items():
        take(name, lambda name=name, ask=ask: named(name, ask(), listed[name], where=LISTED.name))  # type: ignore[misc]
    return result
