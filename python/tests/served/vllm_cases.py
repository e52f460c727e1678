"""Run by test_servers.py: starts vLLM's own managers and parsers for each model, with the parser `backchat`."""

import json
import os
import sys
from pathlib import Path

import package
from models import ARGUMENTS, CALL, TOOLS, USER, ByteTokenizer, Tokenizer, models

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
        "vllm.entrypoints.openai.responses.protocol",
        "vllm.entrypoints.generate.base.protocol",
        "vllm.entrypoints.serve.engine.protocol",
        "vllm.sampling_params",
        "vllm.exceptions",
        "vllm.envs",
        "vllm.utils.collection_utils",
        "vllm.utils.import_utils",
    ),
    ("openai_harmony", "torch", "prometheus_client", "transformers", "triton"),
)
import vllm.renderers.chat_utils

vllm.renderers.chat_utils.make_tool_call_id = lambda **_: "made"
vllm.renderers.chat_utils.get_tool_call_id_type = lambda _: "random"

import backchat.integrations.vllm
import vllm.reasoning
import vllm.tool_parsers
import xgrammar
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.parser.parser_manager import ParserManager

backchat.integrations.vllm.register()


def request(**options):
    return ChatCompletionRequest(model="m", messages=USER, tools=TOOLS, **options)


def start(model, tokenizer=None):
    """What `vllm serve --reasoning-parser backchat --tool-call-parser backchat` does first, for a model with only a chat template."""
    tokenizer = tokenizer or Tokenizer(model)
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


def quoted(model):
    """A call after reasoning that quotes the end of reasoning: its tokenizer, its text and its ids; the quotation is bytes."""
    text = model.writes(tool_calls=[CALL])
    tokenizer = ByteTokenizer(model, text)
    closer = start(model, tokenizer).response_template.fields["thinking"].close_literals
    if closer is None or closer[0].strip() not in tokenizer.markers:
        return None
    before, after = text.split("Look it up.")
    thought = f"Look up é: {closer[0].strip()} is no end."
    ids = [*tokenizer.encode(before), *thought.encode(), *tokenizer.encode(after)]
    return tokenizer, before + thought + after, ids, thought


def answer(model, tokenizer, deltas):
    """The reasoning and the calls of a stream, and the number of its ids that are reasoning."""
    parser, asked = start(model, tokenizer), request()
    told = []
    for place, (ids, text) in enumerate(deltas):
        told.append(parser.parse_delta(text, ids, asked, finished=place == len(deltas) - 1))
    told = [delta for delta in told if delta]
    calls = [json.loads(call.function.arguments) for delta in told for call in delta.tool_calls or ()]
    counted = parser.count_reasoning_tokens([token for ids, _ in deltas for token in ids])
    return "".join(delta.reasoning or "" for delta in told).strip(), calls, counted


def reads_ids(model):
    if not model.reasons or "Look it up." not in model.writes(tool_calls=[CALL]) or quoted(model) is None:
        return
    tokenizer, text, ids, thought = quoted(model)
    # vLLM leaves the stop out of the text, but not out of the ids.
    singly = [*(([token], more) for token, more in tokenizer.deltas(ids)), ([tokenizer.eos_token_id], "")]
    for size in (1, 3, len(singly)):
        pieces = [singly[at : at + size] for at in range(0, len(singly), size)]
        pieces = [
            ([token for new, _ in piece for token in new], "".join(more for _, more in piece)) for piece in pieces
        ]
        found = answer(model, tokenizer, pieces)
        assert found[:2] == (thought, [ARGUMENTS]), found
        assert found[2] in range(len(thought.encode()), len(thought.encode()) + 3), found
    reasoning, content, calls = start(model, tokenizer).parse(
        text, request(), enable_auto_tools=True, model_output_token_ids=ids
    )
    assert reasoning.strip() == thought and not (content or "").strip() and len(calls) == 1, (reasoning, content, calls)
    print("ids")
    # The same text without its ids, and with a policy that matches the text of ids.
    assert answer(model, tokenizer, [([], more) for _, more in singly if more])[0] != thought
    os.environ["BACKCHAT_POLICY"] = "either"
    assert answer(model, tokenizer, singly)[0] != thought
    del os.environ["BACKCHAT_POLICY"]
    print("misled")
    # The end of reasoning for a grammar.
    parser = start(model, tokenizer)
    prompt = tokenizer.encode(model.prompt)
    ends = [at for at in range(len(ids)) if parser.is_reasoning_end([*prompt, *ids[: at + 1]])]
    assert tokenizer.decode(ids[: ends[0] + 1]).count(thought) == 1, ends


def constrains(model):
    asked = request(tool_choice="required")
    asked = start(model).adjust_request(asked) or asked
    tag = asked.structured_outputs.structural_tag
    assert "get_weather" in tag and "get_weather" in str(xgrammar.Grammar.from_structural_tag(tag)), tag
    # A tag constrains text: a model may spell every marker in ordinary tokens.
    text = model.writes(tool_calls=[CALL])
    parser = start(model, ByteTokenizer(model, text))
    ids = list(text.encode())
    _, _, calls = parser.parse(text, asked, enable_auto_tools=True, model_output_token_ids=ids)
    assert len(calls or ()) == 1, calls
    # The tag of a `response_format` covers the whole turn: reasoning, optional calls, the JSON.
    schema = {"type": "object", "properties": {"warmth": {"type": "integer"}}, "required": ["warmth"]}
    asked = request(response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema}})
    asked = start(model).adjust_request(asked) or asked
    tag = asked.structured_outputs.structural_tag
    assert asked.response_format is None and "warmth" in str(xgrammar.Grammar.from_structural_tag(tag)), tag
    assert "get_weather" in tag, tag
    # So does that of `text.format` in the Responses API, whose request keeps its words.
    tools = [{"type": "function", **tool["function"]} for tool in TOOLS]
    form = {"type": "json_schema", "name": "a", "schema": schema}
    asked = ResponsesRequest(model="m", input="Hi", tools=tools, text={"format": form})
    asked = start(model).adjust_request(asked) or asked
    assert asked.text.format.name == "a" and asked.extract_structured_outputs().structural_tag == tag, asked


for model in models():
    for case in (streams, constrains, reads_ids):
        try:
            case(model)
        except Exception as error:  # noqa: BLE001
            cause = error.__cause__ or error
            print(f"{model.name}, {case.__name__}: {type(cause).__name__}: {cause}", file=sys.stderr)
        print(case.__name__)
