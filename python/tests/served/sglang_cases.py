"""Run by test_servers.py: creates SGLang's own parsers for each model, with the parser `backchat`."""

import json
import sys
from pathlib import Path

import package
from models import ARGUMENTS, CALL, TOOLS, USER, VARIABLES, Tokenizer, models

package.load(
    Path(sys.argv[1]),
    (
        "sglang.srt.parser",
        "sglang.srt.function_call",
        "sglang.srt.entrypoints.openai.protocol",
        "sglang.srt.environ",
    ),
    ("torch", "orjson", "fastapi", "transformers", "triton"),
)
import backchat
import backchat.integrations.sglang
import xgrammar
from sglang.srt.entrypoints.openai.protocol import Tool
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.parser.response_template import tool_close_tokens

backchat.integrations.sglang.register()


def calls_of(model):
    """SGLang's parser of calls, for a model with only a chat template."""
    tools = [Tool(**tool) for tool in TOOLS]
    return FunctionCallParser(tools, "backchat", tokenizer=Tokenizer(model), prefix=model.prompt)


def streams(model):
    text = model.writes(tool_calls=[CALL])
    closers = tool_close_tokens("backchat", Tokenizer(model)).values()
    text += next((closer for closer in closers if closer in model.stops), "")
    reasoning = ReasoningParser(
        "backchat", True, tokenizer=Tokenizer(model), tool_call_parser_active=True, prefix=model.prompt
    )
    parser, thought, arguments = calls_of(model), "", ""

    def take(found):
        nonlocal arguments
        arguments += "".join(call.parameters or "" for call in found[1])

    split = [reasoning.parse_stream_chunk(c) for c in text] + [reasoning.parse_stream_end()]
    for more, rest in split if model.reasons else [("", c) for c in text]:
        thought += more or ""
        take(parser.parse_stream_chunk(rest or ""))
    take(parser.parse_stream_end())
    assert json.loads(arguments) == ARGUMENTS, arguments
    assert thought.strip() == ("Look it up." if "Look it up." in text else "")


def constrains(model):
    kind, tag = calls_of(model).get_structure_constraint("required", thinking_mode=model.reasons)
    tag = tag.model_dump_json(by_alias=True, exclude_none=True)
    assert kind == "structural_tag" and "get_weather" in str(xgrammar.Grammar.from_structural_tag(tag)), tag


def constrains_without_reasoning(model):
    """After a prompt that has ended the reasoning, only the call is left to write."""
    variables = {**VARIABLES, "enable_thinking": False}
    prompt = backchat.render(
        model.chat_template, USER, tools=TOOLS, add_generation_prompt=True, variables=variables
    ).text
    if not prompt.rstrip().endswith("</think>"):
        return
    written = backchat.grammar(
        model.chat_template, TOOLS, tool_choice="required", prompt=prompt, format="structural-tag", variables=VARIABLES
    )
    tools = [Tool(**tool) for tool in TOOLS]
    parser = FunctionCallParser(tools, "backchat", tokenizer=Tokenizer(model), prefix=prompt)
    _, tag = parser.get_structure_constraint("required", thinking_mode=False)
    asked, expected = tag.model_dump_json(by_alias=True, exclude_none=True), json.dumps(written["grammar"])
    grammars = [str(xgrammar.Grammar.from_structural_tag(text)) for text in (asked, expected)]
    assert grammars[0] == grammars[1], asked


def streams_text(model):
    """Arguments that are JSON text in a string reach a client as that text, not as a string in a string."""
    written = json.dumps({"name": "get_weather", "arguments": json.dumps(ARGUMENTS)})
    template = {
        "start_anchor": model.prompt[-1:],
        "fields": {
            "tool_calls": {
                "open": "<calls>",
                "close": "</calls>",
                "content": "json",
                "transform": {
                    "type": "function",
                    "function": {"name": "{content.name}", "arguments": "{content.arguments}"},
                },
            },
            "content": {},
        },
    }
    tools = [Tool(**tool) for tool in TOOLS]

    def calls(body):
        parser = FunctionCallParser(tools, "backchat", tokenizer=Tokenizer(model, template), prefix=model.prompt)
        found = [parser.parse_stream_chunk(c) for c in f"<calls>{body}</calls>"] + [parser.parse_stream_end()]
        return [item for _, some in found for item in some]

    items = calls(written)
    assert [item.name for item in items if item.name] == ["get_weather"], items
    assert json.loads("".join(item.parameters or "" for item in items)) == ARGUMENTS, items
    # What is no call when it is whole is none in a stream.
    assert calls('{"name": "get_weather"}') == []


for model in models():
    for case in (streams, constrains, constrains_without_reasoning, streams_text):
        try:
            case(model)
        except Exception as error:  # noqa: BLE001
            cause = error.__cause__ or error
            print(f"{model.name}, {case.__name__}: {type(cause).__name__}: {cause}", file=sys.stderr)
        print(case.__name__)
