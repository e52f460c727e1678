"""Masks of the assistant's tokens, compared with transformers': tokens that cross the edges of generation blocks."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from .. import ours
from ..report import Difference, Result
from ..shrink import shrink
from ..suite.chats import SPECIAL, TEXTS, conversation
from . import ROOT, Options

#: Generation blocks in text of their own making: nothing around them, white space at their edges, several in a turn.
PLAIN = """\
{%- for m in messages -%}
[{{ m.role }}]
{%- if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}
{%- endfor -%}"""
TWICE = """\
{% for m in messages %}{{ m.role }}: {% generation %}{{ m.content }} {% endgeneration %}
 {% generation %}{{ m.content }}é{% endgeneration %}{% endfor %}"""


def tokenizers() -> dict[str, PreTrainedTokenizerFast]:
    """Tokens of bytes, of many characters that cross every edge, and of words, to which no white space belongs."""
    texts = [f"[assistant]{text}[user]{text}\nassistant: {text} {text}<|im_end|>" for text in TEXTS]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    found = {}
    for name, size, splits in (("bytes", 256, False), ("pieces", 400, False), ("words", 500, True)):
        tokenizer = Tokenizer(models.BPE())
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=splits)
        words = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), byte_level])
        tokenizer.pre_tokenizer = words if splits else byte_level
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator(texts, trainer)
        tokenizer.add_special_tokens([AddedToken("<|im_end|>", special=True), AddedToken("<think>", special=True)])
        found[name] = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    return found


class Masks:
    """Both masks, for one chat template after another."""

    def __init__(self, options: Options, folder: Path):
        self.folder = folder
        self.ours = ours.Renders(options.binary, folder, "--mask=tags")
        self.tokenizers = tokenizers()
        for name, tokenizer in self.tokenizers.items():
            tokenizer.backend_tokenizer.save(str(folder / f"{name}.json"))

    def open(self, source: str) -> None:
        self.source = source
        self.ours.open(source)

    def ask(self, name: str, context: dict[str, Any]) -> tuple[Any, Any]:
        """Their mask and ours, of the same tokens; errors as text."""
        try:
            encoded = self.tokenizers[name].apply_chat_template(
                context["messages"],
                chat_template=self.source,
                return_assistant_tokens_mask=True,
                return_dict=True,
                **{key: value for key, value in context.items() if key != "messages"},
            )
        except Exception as error:  # noqa: BLE001
            return f"{type(error).__name__}: {error}", None
        if name == "words":
            # No text has these ids: they lack its white space.
            answer = self.ours.render(context, offsets=[list(span) for span in encoded.encodings[0].offsets])
        else:
            tokenizer = str(self.folder / f"{name}.json")
            answer = self.ours.render(context, tokenizer=tokenizer, token_ids=encoded["input_ids"])
        return encoded["assistant_masks"], answer.get("mask") or answer.get("token_mask") or json.dumps(answer)

    def differs(self, name: str, context: dict[str, Any]) -> bool:
        if not isinstance(context.get("messages"), list) or not context["messages"]:
            return False
        theirs, mask = self.ask(name, context)
        return isinstance(theirs, list) and theirs != mask

    def shown(self, template: str, name: str, context: dict[str, Any]) -> Difference:
        context = shrink(context, lambda context: self.differs(name, context), checks=1500)
        theirs, mask = self.ask(name, context)
        example = (
            json.dumps(context, ensure_ascii=False) + "\n" + json.dumps(self.tokens(name, context), ensure_ascii=False)
        )
        return Difference("masks of generation blocks", f"{template}, tokens: {name}", example, str(theirs), str(mask))

    def tokens(self, name: str, context: dict[str, Any]) -> list[str]:
        """The pieces of the render, to read the masks by."""
        text = self.tokenizers[name].apply_chat_template(
            context["messages"],
            chat_template=self.source,
            tokenize=False,
            **{key: value for key, value in context.items() if key != "messages"},
        )
        offsets = self.tokenizers[name](text, add_special_tokens=False).encodings[0].offsets
        return [text[start:end] for start, end in offsets]


def sources(options: Options) -> Iterator[tuple[str, str]]:
    """Templates with generation blocks."""
    yield "a template without text around its blocks", PLAIN
    yield "a template with two blocks in a turn", TWICE
    for path in sorted((ROOT / "chat_templates").glob("*.jinja")):
        patched = ours.run(options.binary, "fix", "--generation", str(path))
        if patched.returncode == 0:
            yield f"chat_templates/{path.name} with generation blocks", patched.stdout


def run(options: Options) -> Result:
    contexts = [conversation(Random(f"{options.seed} mask {number}")) for number in range(max(4, options.count // 4))]
    contexts = [{**context, **SPECIAL} for context in contexts]
    result, asked, differing = Result(""), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        masks = Masks(options, Path(folder))
        for template, source in sources(options):
            masks.open(source)
            for name in masks.tokenizers:
                found = [context for context in contexts if masks.differs(name, context)]
                asked, differing = asked + len(contexts), differing + len(found)
                # A rule that changed differs everywhere; a few examples say how.
                if found and len(result.differences) < 4:
                    result.differences.append(masks.shown(template, name, found[0]))
        masks.ours.close()
    result.asked = (
        f"{asked:,} masks of tokens that generation blocks select, seed {options.seed}; {differing:,} differ."
    )
    return result
