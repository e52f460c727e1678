"""A model for mlx-lm that writes what the last message of a user asks for, in hexadecimal: `say:48690a`.

mlx-lm loads this file from the model's folder. The cache holds the ids that were read, so the model knows its prompt and how
much of the answer is written, also in a batch.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx
from mlx import nn
from mlx_lm.models.base import BaseModelArgs
from tokenizers import Tokenizer

FOLDER = Path(__file__).parent
ASKED = re.compile("say:([0-9a-f]*)")


@dataclass
class ModelArgs(BaseModelArgs):
    model_type: str
    vocab_size: int


class Model(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.args = args
        self.weight = mx.zeros((1,))
        self.layers = [nn.Identity()]
        self.head_dim = self.n_kv_heads = 1
        self.tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
        config = json.loads((FOLDER / "config.json").read_text())
        self.end, self.opening = config["eos_token_id"], self.encode(config["opening"])

    def __call__(self, inputs, cache=None, **_):
        ids = inputs[:, None, :, None].astype(mx.float32)
        known, _ = cache[0].update_and_fetch(ids, ids)
        rows = [[round(row) for row in known[number, 0, :, 0].tolist()] for number in range(inputs.shape[0])]
        logits = mx.full((*inputs.shape, self.args.vocab_size), -1e4)
        for number, row in enumerate(rows):
            logits[number, -1, self.next_of(row)] = 0.0
        return logits

    def next_of(self, row):
        asked = ASKED.findall(self.tokenizer.decode(row, skip_special_tokens=False))
        begun = [at for at in range(len(row) + 1) if row[:at][-len(self.opening) :] == self.opening]
        if not asked or not begun:
            return self.end
        script = self.encode(bytes.fromhex(asked[-1]).decode())
        written = len(row) - begun[-1]
        return script[written] if written < len(script) else self.end

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids
