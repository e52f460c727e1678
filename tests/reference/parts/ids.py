"""The ids of rendered conversations, compared with transformers': as they are, and with control tokens as text."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import backchat
from transformers import PreTrainedTokenizerFast

from ..report import Difference, Result
from ..shrink import shrink
from ..suite.controls import chat
from ..suite.tokenizers import File, tokenizers, with_flags
from . import ROOT, Options

#: Texts cut, changed, counted and printed whole, in which the marks around control tokens may go wrong.
OWN = {
    "turns": "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.reasoning_content }}</think>{{ m.content }}<|im_end|>\n"
    "{% endfor %}{{ tools | tojson }}{{ mood }}",
    "pieces": "{% for m in messages %}{{ '<|' ~ m.role ~ '|>' }}{% if m.content is string %}"
    "{{ m.content.split('</think>')[-1].lstrip('\n') | trim }}{{ m.content | upper }}{{ m.content | length }}"
    "{{ m.content[1:-1] }}{{ m.content | replace('<', '<<') }}{% endif %}<|end|>{% endfor %}",
    "printed": "{% for m in messages %}[INST] {{ m }} [/INST]{{ m | tojson(indent=1) }}{{ eos_token }}{% endfor %}",
}


class Ids:
    """Both lists of ids, for one tokenizer in transformers' own class."""

    def __init__(self, folder: Path, tokenizer: File, listed: list[str] | None):
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(tokenizer), encoding="utf-8")
        special = [token["content"] for token in tokenizer["added_tokens"] if token["special"]]
        config: dict[str, Any] = {"bos_token": special[0], "eos_token": special[-1]}
        if listed is not None:
            config["chat_control_tokens"] = listed
        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path), **config)

    def ask(self, template: str, chosen: dict[str, Any], sanitize: bool) -> tuple[Any, Any]:
        variables = {
            key: value for key, value in chosen.items() if key not in ("messages", "tools", "add_generation_prompt")
        }
        shared = {"tools": chosen.get("tools"), "add_generation_prompt": chosen.get("add_generation_prompt", False)}
        try:
            encoded = self.tokenizer.apply_chat_template(
                chosen["messages"], chat_template=template, sanitize_control_tokens=sanitize, **shared, **variables
            )
            theirs: Any = encoded["input_ids"]
        # The crate under their tokenizer panics for some flags, which is no `Exception`.
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            theirs = f"refused: {'control token' if 'sanitize' in str(error) else 'other'}"
        try:
            ours: Any = backchat.render(
                template + "\n",
                chosen["messages"],
                variables=variables,
                tokenizer=self.tokenizer,
                sanitize_control_tokens=sanitize,
                **shared,
            ).token_ids
        except ValueError as error:
            ours = f"refused: {'control token' if 'as text' in str(error) else 'other'}"
        return theirs, ours

    def differs(self, template: str, chosen: dict[str, Any], sanitize: bool) -> bool:
        if not isinstance(chosen.get("messages"), list) or not chosen["messages"]:
            return False
        theirs, ours = self.ask(template, chosen, sanitize)
        return bool(theirs != ours)

    def shown(self, name: str, template: str, chosen: dict[str, Any], sanitize: bool) -> Difference:
        chosen = shrink(chosen, lambda smaller: self.differs(template, smaller, sanitize), checks=600)
        theirs, ours = self.ask(template, chosen, sanitize)
        feature = "sanitize_control_tokens" if sanitize else "ids of a render"
        return Difference(feature, name, json.dumps(chosen, ensure_ascii=False), str(theirs), str(ours))


def kinds(r: Random) -> Iterator[tuple[str, File]]:
    """Each tokenizer, as it is and with other flags of its added tokens."""
    for name, tokenizer in tokenizers().items():
        yield name, tokenizer
        yield f"{name}, other flags", with_flags(r, tokenizer)


def run(options: Options) -> Result:
    r = Random(f"{options.seed} ids")
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "chat_templates").glob("*.jinja"))}
    templates = {**OWN, **files}
    result, asked, differing = Result(""), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, tokenizer in kinds(r):
            ordinary = [token["content"] for token in tokenizer["added_tokens"] if not token["special"]]
            listed = r.choice([None, None, [], r.sample(ordinary, len(ordinary) // 2)])
            ids = Ids(Path(folder), tokenizer, listed)
            controls = [token["content"] for token in tokenizer["added_tokens"]]
            for number in range(max(4, options.count)):
                chosen, template = chat(r, controls), r.choice(sorted(templates))
                for sanitize in (False, True):
                    asked += 1
                    if ids.differs(templates[template], chosen, sanitize):
                        differing += 1
                        if len(result.differences) < 4:
                            shown = ids.shown(
                                f"{template}, {name}, chat {number}", templates[template], chosen, sanitize
                            )
                            result.differences.append(shown)
    result.asked = f"{asked:,} renders as ids, half of them sanitized, seed {options.seed}; {differing:,} differ."
    return result
