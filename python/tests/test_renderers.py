"""The adapter for Prime Intellect's `renderers`, run with the package's own code."""

from pathlib import Path

import pytest

for package in ("renderers", "tokenizers", "transformers"):
    pytest.importorskip(package)

import renderers
import transformers
from renderers import CustomRendererConfig, ToolCallParseStatus, build_training_sample, create_renderer
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

TEMPLATES = Path(__file__).parents[2] / "chat_templates"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
HISTORY = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it cold in Zürich, 寒い?"}]
RESULT = {"role": "tool", "tool_call_id": "a", "content": "3 °C"}


def tokenizer(name: str) -> transformers.PreTrainedTokenizerFast:
    """A tokenizer of bytes and a few pairs, with the marks of a turn as tokens."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(["Is the weather in this city cold? It is."] * 20, trainer)
    made.add_special_tokens([AddedToken(mark, special=True) for mark in ("<|im_start|>", "<|im_end|>")])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>")
    fast.chat_template = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
    return fast


def renderer(tokenizer, **config):
    return create_renderer(
        tokenizer, CustomRendererConfig(import_path="backchat.integrations.renderers.Renderer", **config)
    )


@pytest.fixture(scope="module")
def qwen():
    made = tokenizer("qwen3")
    return made, renderer(made)


def encoded(tokens, text):
    return tokens.encode(text, add_special_tokens=False)


def text_of(tokens, ids, chosen):
    return tokens.decode([token for token, is_in in zip(ids, chosen, strict=True) if is_in])


def test_the_package_takes_it_for_a_renderer(qwen):
    _, made = qwen
    assert isinstance(made, renderers.Renderer)
    assert not renderers.is_multimodal(made)
    assert made.supports_tools
    # The template drops earlier reasoning.
    assert not made.is_prefix_stable


def test_the_ids_are_those_of_the_chat_template(qwen):
    tokens, made = qwen
    said = [*HISTORY, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And now?"}]
    ids = tokens.apply_chat_template(said, tools=TOOLS, add_generation_prompt=True, return_dict=False)
    rendered = made.render(said, tools=TOOLS, add_generation_prompt=True)
    assert rendered.token_ids == ids == made.render_ids(said, tools=TOOLS, add_generation_prompt=True)
    of = [text_of(tokens, ids, [at == owner for at in rendered.message_indices]) for owner in (-1, 1, 2, 3)]
    assert of == [
        "<|im_start|>assistant\n",
        "<|im_start|>user\nIs it cold in Zürich, 寒い?<|im_end|>\n",
        "<|im_start|>assistant\nYes.<|im_end|>",
        "\n<|im_start|>user\nAnd now?<|im_end|>\n",
    ]
    assert text_of(tokens, ids, rendered.sampled_mask) == "Yes.<|im_end|>"
    assert text_of(tokens, ids, rendered.is_content) == "Be brief.Is it cold in Zürich, 寒い?Yes.<|im_end|>And now?"
    assert rendered.message_roles == ["system", "user", "assistant", "user"]


def test_a_training_sample_bears_loss_on_what_the_model_wrote(qwen):
    tokens, made = qwen
    said = [*HISTORY, {"role": "assistant", "content": "Yes."}]
    sample = build_training_sample(made, said, role_to_mask=lambda message: message["role"] == "assistant")
    # The prompt of this template leaves the thought to the model, here an empty one.
    assert text_of(tokens, sample.token_ids, sample.loss_mask) == "<think>\n\n</think>\n\nYes.<|im_end|>"


def test_every_attempted_call_is_listed(qwen):
    tokens, made = qwen
    prompt = made.render_ids(HISTORY, tools=TOOLS, add_generation_prompt=True)
    call = '<tool_call>\n{"name": "%s", "arguments": {"city": "Bern"}}\n</tool_call>\n'
    broken = '<tool_call>\n{"name": \n</tool_call>\n'
    said = encoded(tokens, f"<think>\nHm.\n</think>\n\n{call % 'get_weather'}{broken}{call % 'fly'}<|im_end|>")
    read = made.parse_response(said, tools=TOOLS, prompt_ids=prompt)
    assert (read.content, read.reasoning_content, read.reasoning_complete) == ("", "Hm.", True)
    statuses = [ToolCallParseStatus.OK, ToolCallParseStatus.INVALID_JSON, ToolCallParseStatus.UNKNOWN_TOOL]
    assert [found.status for found in read.tool_calls] == statuses
    assert (read.tool_calls[0].name, read.tool_calls[0].arguments) == ("get_weather", {"city": "Bern"})
    for found in read.tool_calls:
        assert tokens.decode(said[slice(*found.token_span)]) == found.raw


def test_what_is_cut_off_is_said(qwen):
    tokens, made = qwen
    thinking = made.parse_response(encoded(tokens, "<think>\nHm"))
    assert (thinking.reasoning_content, thinking.reasoning_complete) == ("Hm", False)
    calling = made.parse_response(encoded(tokens, 'Wait.<tool_call>\n{"name": "get'))
    assert calling.content == "Wait."
    assert [found.status for found in calling.tool_calls] == [ToolCallParseStatus.UNCLOSED_BLOCK]


@pytest.mark.parametrize("stop", ["<|im_end|>", ""])
def test_a_call_that_the_turn_ends_is_not_closed(qwen, stop):
    tokens, made = qwen
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bern"}}'
    said = encoded(tokens, f"<think>\nHm.\n</think>\n\n{call}{stop}")
    (found,) = made.parse_response(said, tools=TOOLS).tool_calls
    assert (found.status, found.raw) == (ToolCallParseStatus.UNCLOSED_BLOCK, call)
    assert tokens.decode(said[slice(*found.token_span)]) == call


def test_a_call_after_reasoning_that_the_prompt_opens_is_not_closed_by_the_turn():
    tokens = tokenizer("nemotron_nano_v2")
    call = '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Bern"}}]'
    for closer, status in [("</TOOLCALL>", ToolCallParseStatus.OK), ("", ToolCallParseStatus.UNCLOSED_BLOCK)]:
        said = encoded(tokens, f"Hm.</think>{call}{closer}<SPECIAL_12>")
        made = renderer(tokens)
        prompt = made.render_ids(HISTORY, tools=TOOLS, add_generation_prompt=True)
        (found,) = made.parse_response(said, tools=TOOLS, prompt_ids=prompt).tool_calls
        assert found.status == status, closer


def test_the_turn_closes_a_call_that_has_no_other_end():
    tokens = tokenizer("gpt_oss")
    call = '<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>{"city": "Bern"}'
    (found,) = renderer(tokens).parse_response(encoded(tokens, f"{call}<|call|>"), tools=TOOLS).tool_calls
    assert (found.status, found.arguments) == (ToolCallParseStatus.OK, {"city": "Bern"})


@pytest.mark.parametrize(
    "body, status",
    [
        ("{bad}", ToolCallParseStatus.INVALID_JSON),
        ('{"arguments": {"city": "Bern"}}', ToolCallParseStatus.MISSING_NAME),
        ("[]", ToolCallParseStatus.MISSING_NAME),
        ('{"name": "get_weather"}', ToolCallParseStatus.MALFORMED_STRUCTURE),
    ],
)
def test_what_is_wrong_with_a_call_is_said(qwen, body, status):
    tokens, made = qwen
    said = encoded(tokens, f"<think>\nHm.\n</think>\n\n<tool_call>\n{body}\n</tool_call><|im_end|>")
    assert [found.status for found in made.parse_response(said, tools=TOOLS).tool_calls] == [status]


def test_a_bridge_keeps_every_sampled_id(qwen):
    tokens, made = qwen
    prompt = made.render_ids(HISTORY, tools=TOOLS, add_generation_prompt=True)
    said = encoded(
        tokens, '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bern"}}\n</tool_call><|im_end|>'
    )
    # The model may choose other tokens than the tokenizer, which encode to the same text.
    name = encoded(tokens, "city")
    place = next(at for at in range(len(said)) if said[at : at + len(name)] == name)
    said[place : place + len(name)] = [id for letter in "city" for id in encoded(tokens, letter)]
    assert said != encoded(tokens, tokens.decode(said))
    bridged = made.bridge_to_next_turn(prompt, said, [RESULT], tools=TOOLS)
    before = len(prompt) + len(said)
    assert bridged.token_ids[:before] == prompt + said
    assert set(bridged.message_indices[:before]) == {-1}
    assert not any(bridged.sampled_mask)
    of_result = [at == 0 for at in bridged.message_indices]
    assert text_of(tokens, bridged.token_ids, of_result).endswith("<tool_response>\n3 °C\n</tool_response><|im_end|>\n")
    assert text_of(tokens, bridged.token_ids, bridged.is_content) == "3 °C"
    assert tokens.decode(bridged.token_ids).endswith("<|im_start|>assistant\n")


def test_a_history_that_the_template_rewrites_is_rendered_anew(qwen):
    tokens, made = qwen
    prompt = made.render_ids(HISTORY, add_generation_prompt=True)
    said = encoded(tokens, "<think>\nHm.\n</think>\n\nYes.<|im_end|>")
    asked = [{"role": "user", "content": "Why?"}]
    # The template drops the reasoning of earlier turns.
    assert made.bridge_to_next_turn(prompt, said, asked) is None
    keeping = renderer(tokens, thinking_retention="all")
    bridged = keeping.bridge_to_next_turn(prompt, said, asked)
    assert bridged.token_ids[: len(prompt) + len(said)] == prompt + said
    assert tokens.decode(bridged.token_ids[len(prompt) + len(said) :]).startswith("\n<|im_start|>user\nWhy?<|im_end|>")
    # Nobody encodes an answer again, and what is no prompt has no history.
    assert made.bridge_to_next_turn(prompt, said, [{"role": "assistant", "content": "Yes."}]) is None
    assert made.bridge_to_next_turn(encoded(tokens, "no prompt"), said, asked) is None


def test_variables_and_templates_come_from_the_configuration():
    tokens = tokenizer("qwen3")
    silent = renderer(tokens, enable_thinking=False)
    assert tokens.decode(silent.render_ids(HISTORY, add_generation_prompt=True)).endswith("<think>\n\n</think>\n\n")
    own = {"start_anchor": "assistant\n", "fields": {"content": {"close": "<|im_end|>"}}}
    plain = renderer(tokens, response_template=own)
    assert plain.parse_response(encoded(tokens, "<think>Hm.</think><|im_end|>")).content == "<think>Hm.</think>"
    tokens.chat_template = None
    with pytest.raises(ValueError, match="no chat template"):
        renderer(tokens)
    source = (TEMPLATES / "hermes.jinja").read_text(encoding="utf-8")
    assert renderer(tokens, chat_template=source).supports_tools
