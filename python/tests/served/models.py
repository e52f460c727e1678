"""The project's chat templates as models: what each writes for a call, and tokenizers of characters and of bytes."""

import re
import sys
from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace

import backchat

sys.path.append(str(Path(__file__).parents[1]))
from test_tokens import text_of_tokenizer

CHAT_TEMPLATES = Path(__file__).parents[3] / "chat_templates"
USER = [{"role": "user", "content": "Weather in Oslo?"}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city", "days"],
                "additionalProperties": False,
            },
        },
    }
]
ARGUMENTS = {"city": "Oslo", "days": 1}
CALL = {"type": "function", "id": "call00000", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
REASONING = ("thinking", "reasoning_content", "reasoning")
VARIABLES = {"bos_token": "<s>", "eos_token": "</s>"}


class Model:
    """A chat template, and the outputs of a model with it."""

    def __init__(self, path: Path):
        self.name, self.chat_template = path.stem, path.read_text(encoding="utf-8")
        derivation = backchat.derive(self.chat_template, variables=VARIABLES)
        fields = (derivation.response_template or {}).get("fields", {})
        self.calls, self.reasons = "tool_calls" in fields, any(name in fields for name in REASONING)
        self.stops = derivation.report["findings"]["turn"]["stops"]
        self.prompt = self._render(USER, add_generation_prompt=True)

    def _render(self, messages, **options):
        return backchat.render(self.chat_template, messages, tools=TOOLS, variables=VARIABLES, **options).text

    def writes(self, **message) -> str | None:
        """The model's output without its stop; `None` if the render does not begin with the prompt."""
        thoughts = {name: "Look it up." for name in REASONING} if self.reasons else {}
        rendered = self._render([*USER, {"role": "assistant", "content": "", **thoughts, **message}])
        if not rendered.startswith(self.prompt):
            return None
        text = rendered[len(self.prompt) :].rstrip()
        stop = next((stop for stop in self.stops if text.endswith(stop.rstrip())), "")
        return text.removesuffix(stop.rstrip())


class Tokenizer:
    """A token is a character; a model's stop is one token more."""

    def __init__(self, model: Model, response_template=None):
        self.chat_template, self.special_tokens_map, self.init_kwargs = model.chat_template, VARIABLES, {}
        self.stops = model.stops
        if response_template is not None:
            self.response_template = response_template

    def get_vocab(self):
        return {}

    def encode(self, text, **options):
        return [0x110000 + self.stops.index(text)] if text in self.stops else [ord(c) for c in text]

    def decode(self, ids, **options):
        return "".join(map(chr, ids))


#: What looks like a marker in the renders of the chat templates.
MARKER = re.compile(r"</?[^<>\s]+>|\[/?[A-Z_]+\]")


class ByteTokenizer(Tokenizer):
    """A token is a byte, or a marker of the model, or the beginning of a word."""

    def __init__(self, model: Model, text: str, words: Collection[str] = ()):
        super().__init__(model)
        self.markers = sorted({*MARKER.findall(model.prompt + text), "<eos>"})
        written = text_of_tokenizer(self.markers, words)
        self.known = backchat.Tokenizer(written)
        self.first_marker = 256 + len({word[:end] for word in words for end in range(2, len(word) + 1)})
        self.size = self.first_marker + len(self.markers)
        self.backend_tokenizer = SimpleNamespace(to_str=lambda: written, get_vocab_size=lambda **_: self.size)
        self.eos_token_id = self.encode("<eos>")[0]

    def bytes_of(self, token):
        """What a token stands for, which may be half a character."""
        return bytes([token]) if token < 256 else self.decode([token]).encode()

    def get_vocab(self):
        return {marker: place for place, marker in enumerate(self.markers, self.first_marker)}

    def encode(self, text, **options):
        return self.known.encode(text)

    def decode(self, ids, **options):
        return self.known.decode(list(ids))

    def deltas(self, ids):
        """Each id with the text that it adds, which is empty while a character is incomplete."""
        shown = ""
        for place, token in enumerate(ids):
            text = self.decode(ids[: place + 1])
            more = "" if text.endswith("\ufffd") else text[len(shown) :]
            yield token, more
            shown += more


def models() -> list[Model]:
    """The models whose renders show calls."""
    found = [Model(path) for path in sorted(CHAT_TEMPLATES.glob("*.jinja"))]
    return [
        model for model in found if model.calls and CALL["function"]["name"] in (model.writes(tool_calls=[CALL]) or "")
    ]
