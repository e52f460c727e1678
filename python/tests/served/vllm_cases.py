"""Run by test_servers.py: starts vLLM's own managers and parsers for each model, with the parser `backchat`."""

import json
import os
import sys
from pathlib import Path
from random import Random

import numpy as np
import package
from models import ARGUMENTS, CALL, MARKER, TOOLS, USER, ByteTokenizer, Tokenizer, models

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

#: How many answers of each kind are drawn for each model.
SEEDS = 2


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


class Drawn:
    """What a model of random weights writes under the tag of a request: any token that the tag allows, likely or not.

    The markers are tokens of their own, and can be spelled with those of bytes and words.
    """

    #: More tokens than an answer of a few calls has; longer ones are cut, and promise nothing.
    LIMIT = 1500

    def __init__(self, model, tag, seed):
        text = model.writes(tool_calls=[CALL])
        pieces = {piece for marker in MARKER.findall(text) for piece in (marker[:-1], marker[1:-1])}
        words = [*pieces, "get_weather", '": ', '{"', '"}', "\n\n", "}}"]
        self.tokenizer = ByteTokenizer(model, text, [word for word in words if word.isascii() and len(word) > 1])
        vocabulary = [self.tokenizer.bytes_of(token) for token in range(self.tokenizer.size)]
        info = xgrammar.TokenizerInfo(vocabulary, stop_token_ids=[self.tokenizer.eos_token_id])
        self.matcher = xgrammar.GrammarMatcher(xgrammar.GrammarCompiler(info).compile_structural_tag(tag))
        # Toward an end, and away from bytes that are no text.
        ends = dict.fromkeys(b'"}]<', 30)
        self.weights = [ends.get(token, 1) if token < 128 else 0.001 for token in range(256)]
        self.weights += [30] * (len(vocabulary) - 256)
        self.random = Random(seed)

    def ids(self):
        """The tokens, the stop among them; `None` if the answer is longer than the limit."""
        written = []
        mask = np.zeros((1, -(-self.tokenizer.size // 32)), dtype=np.int32)
        while len(written) < self.LIMIT:
            self.matcher.fill_next_token_bitmask(mask)
            allowed = np.unpackbits(mask.view(np.uint8), bitorder="little")[: self.tokenizer.size]
            weights = [weight * may for weight, may in zip(self.weights, allowed.tolist(), strict=True)]
            (token,) = self.random.choices(range(self.tokenizer.size), weights)
            assert self.matcher.accept_token(token)
            written.append(token)
            if self.matcher.is_terminated():
                return written
        return None


def fits(arguments):
    return (
        {"city", "days"} == set(arguments)
        and isinstance(arguments["city"], str)
        and isinstance(arguments["days"], int)
        and not isinstance(arguments["days"], bool)
    )


def told(model, tokenizer, ids, asked):
    """The deltas of a streamed answer, one for each token; the stop has no text."""
    parser = start(model, tokenizer)
    for token, text in tokenizer.deltas(ids[:-1]):
        yield parser.parse_delta(text, [token], asked, finished=False)
    yield parser.parse_delta("", ids[-1:], asked, finished=True)


def keeps(model):
    """What a tag promises is read from every answer that it allows, in whatever tokens."""
    schema = {"type": "object", "properties": {"warmth": {"type": "integer"}}, "required": ["warmth"]}
    schema["additionalProperties"] = False
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    named = {"type": "function", "function": {"name": "get_weather"}}
    kinds = {"required": {"tool_choice": "required"}, "named": {"tool_choice": named}}
    kinds |= {"one call": {"tool_choice": "required", "parallel_tool_calls": False}}
    kinds |= {"json_schema": {"response_format": form, "tool_choice": "none"}}
    for kind, options in kinds.items():
        for seed in range(SEEDS):
            asked = request(**options)
            asked = start(model).adjust_request(asked) or asked
            drawn = Drawn(model, asked.structured_outputs.structural_tag, seed)
            ids = drawn.ids()
            if ids is None:
                print("cut")
                continue
            written = drawn.tokenizer.decode(ids[:-1])
            parser = start(model, drawn.tokenizer)
            _, content, calls = parser.parse(written, asked, enable_auto_tools=True, model_output_token_ids=ids)
            found = [json.loads(call.arguments) for call in calls or ()]
            if kind == "json_schema":
                kept = not found and isinstance(json.loads(content)["warmth"], int)
            else:
                kept = found and all(map(fits, found)) and (kind != "one call" or len(found) == 1)
            assert kept, (kind, seed, written, ids, content, calls)
            deltas = [parsed for parsed in told(model, drawn.tokenizer, ids, asked) if parsed]
            streamed = [json.loads(call.function.arguments) for delta in deltas for call in delta.tool_calls or ()]
            shown = "".join(delta.content or "" for delta in deltas)
            assert streamed == found and shown.strip() == (content or "").strip(), (kind, seed, streamed, found, shown)
            print("kept")


for model in models():
    for case in (streams, constrains, reads_ids, keeps):
        try:
            case(model)
        except Exception as error:  # noqa: BLE001
            cause = error.__cause__ or error
            print(f"{model.name}, {case.__name__}: {type(cause).__name__}: {cause}", file=sys.stderr)
        print(case.__name__)
