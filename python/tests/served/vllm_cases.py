"""Run by test_servers.py: starts vLLM's own managers and parsers on each model, with the parser `backchat`."""

import json
import sys
from pathlib import Path

import package
from models import ARGUMENTS, CALL, TOOLS, USER, Tokenizer, models

package.load(
    Path(sys.argv[1]),
    (
        "vllm.parser.parser_manager",
        "vllm.parser.response_template",
        "vllm.parser.response_template_grammar",
        "vllm.parser.abstract_parser",
        "vllm.parser.chat_parsing",
        "vllm.parser.utils",
        "vllm.parser.engine",
        "vllm.parser.metrics",
        "vllm.tool_parsers",
        "vllm.reasoning",
        "vllm.entrypoints.openai.chat_completion.protocol",
        "vllm.entrypoints.generate.base.protocol",
        "vllm.entrypoints.serve.engine.protocol",
        "vllm.sampling_params",
        "vllm.exceptions",
        "vllm.envs",
        "vllm.utils.collection_utils",
        "vllm.utils.import_utils",
    ),
    ("torch", "prometheus_client", "transformers", "triton"),
)
import vllm.renderers.chat_utils

vllm.renderers.chat_utils.make_tool_call_id = lambda **_: "made"
vllm.renderers.chat_utils.get_tool_call_id_type = lambda _: "random"

import backchat.integrations.vllm
import vllm.reasoning
import vllm.tool_parsers
import xgrammar
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser.parser_manager import ParserManager

backchat.integrations.vllm.register()


def request(**options):
    return ChatCompletionRequest(model="m", messages=USER, tools=TOOLS, **options)


def start(model):
    """What `vllm serve --reasoning-parser backchat --tool-call-parser backchat` does first, on the chat template alone."""
    tokenizer = Tokenizer(model)
    made = ParserManager.get_parser(
        tokenizer=tokenizer, tool_parser_name="backchat", reasoning_parser_name="backchat", enable_auto_tools=True
    )
    parser = made(tokenizer, request().tools)
    parser.set_prompt_token_ids(tokenizer.encode(model.prompt))
    return parser


def streams(model):
    parser, asked = start(model), request()
    text = model.writes(tool_calls=[CALL])
    deltas = [parser.parse_delta(c, [], asked, finished=at == len(text) - 1) for at, c in enumerate(text)]
    deltas = [delta for delta in deltas if delta]
    calls = [json.loads(call.function.arguments) for delta in deltas for call in delta.tool_calls or ()]
    assert calls == [ARGUMENTS], calls
    thought = "".join(delta.reasoning or "" for delta in deltas).strip()
    assert thought == ("Look it up." if "Look it up." in text else "")


def constrains(model):
    asked = request(tool_choice="required")
    asked = start(model).adjust_request(asked) or asked
    tag = asked.structured_outputs.structural_tag
    assert "get_weather" in tag and "get_weather" in str(xgrammar.Grammar.from_structural_tag(tag)), tag


for model in models():
    for case in (streams, constrains):
        try:
            case(model)
        except Exception as error:  # noqa: BLE001
            cause = error.__cause__ or error
            print(f"{model.name}, {case.__name__}: {type(cause).__name__}: {cause}", file=sys.stderr)
        print(case.__name__)
