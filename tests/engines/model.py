"""Tiny models with random weights for the chat templates of the project. Under a grammar they write everything that it allows."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from .asks import TOOLS

ROOT = Path(__file__).resolve().parents[2]
#: Texts that formats use as special tokens: `<|name|>`, `<name>`, `</name>`, `[NAME]`, and their relatives.
MARKER = re.compile(r"<[|｜/]?[\w:|｜▁. ]{1,38}[|｜]?>|\[/?[A-Z][A-Z_]{2,20}\]|\]~b\]|\[e~\[|\]~!b\[")
#: Words beside the chat template's own from which tokens of several characters are made.
WORDS = json.dumps(TOOLS) + ' {"city": "Rome", "days": 3, "on": true, "place": {"lat": 7}}'
#: The variables of chat templates that have no tokens of their own for these.
BEGIN, END = "<s>", "</s>"


@dataclass(frozen=True)
class Model:
    """A chat template, and the facts about it that a tokenizer has."""

    name: str
    chat_template: str
    #: The tokens that end a turn.
    stops: list[str]
    #: The special tokens, the stops included.
    markers: list[str]

    @classmethod
    def open(cls, name: str, binary: Path) -> Model:
        """The model of a chat template of the project; its stops and markers are derived."""
        file = ROOT / "chat_templates" / f"{name}.jinja"
        run = subprocess.run([binary, "derive", file, "--format", "json"], capture_output=True, text=True, check=True)
        report = json.loads(run.stdout)
        stops = report["findings"]["turn"]["stops"] or [END]
        text = file.read_text(encoding="utf-8")
        code = re.sub(r"\{#.*?#\}", "", text, flags=re.DOTALL)
        used = code + json.dumps(report["response_template"], ensure_ascii=False)
        markers = [*stops, *MARKER.findall(used), *(token for token in (BEGIN, END) if token in stops)]
        return cls(name, text, stops, list(dict.fromkeys(markers)))

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Pieces of bytes, merged as in ordinary tokenizers, and the markers."""
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=450, initial_alphabet=alphabet, show_progress=False)
        # Merges of characters beyond ASCII would begin in the middle of one.
        made.train_from_iterator([re.sub(r"[^\n -~]", " ", self.chat_template), *[WORDS] * 5], trainer)
        made.add_special_tokens([AddedToken(marker, special=True, normalized=False) for marker in self.markers])
        return made

    @property
    def tokens(self) -> list[str]:
        """The names of the tokens, by id."""
        ids = self.tokenizer.get_vocab()
        return sorted(ids, key=ids.__getitem__)

    def id_of(self, token: str) -> int:
        """The id of a marker."""
        found: int | None = self.tokenizer.token_to_id(token)
        if found is None:
            raise ValueError(f"{self.name}: {token!r} is no token")
        return found

    @cached_property
    def leanings(self) -> dict[str, float]:
        """A bias for each token that a random model writes too often, or too rarely to come to an end."""
        return {str(id): bias for id, bias in enumerate(map(self._leaning, self.tokens)) if bias}

    def _leaning(self, token: str) -> float:
        if token in self.markers:
            return 3.0
        if not token.isascii() and any(_byte(letter) >= 0x80 for letter in token):
            # Half of a character.
            return -30.0
        if not token.strip("ĠĊĉč"):
            return -4.0
        return 3.0 if token in {'"', "}", "<", "]"} else 0.0


def _byte(letter: str) -> int:
    """The byte that a letter stands for in the names of byte-level tokens."""
    return BYTES[letter]


def _letters() -> Iterator[tuple[str, int]]:
    beyond = 0x100
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or 0xAE <= byte:
            yield chr(byte), byte
        else:
            yield chr(beyond), byte
            beyond += 1


BYTES = dict(_letters())
