"""Random weights of two layers, as a model folder of transformers and as a GGUF file. Needs no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import save_file

from .model import Model

#: Heads of 64, the smallest that vLLM runs on a CPU.
WIDTH, INNER, LAYERS, HEADS, CONTEXT = 128, 128, 2, 2, 8192
#: GGUF's names of the tensors of a model and of a layer; each with transformers' name, and its rows. All have `WIDTH`
#: columns but `ffn_down`, and those without rows are vectors.
OUTER = {"token_embd": ("model.embed_tokens", 0), "output_norm": ("model.norm", None), "output": ("lm_head", 0)}
LAYER = {
    "attn_norm": ("input_layernorm", None),
    "ffn_norm": ("post_attention_layernorm", None),
    "attn_q": ("self_attn.q_proj", WIDTH),
    "attn_k": ("self_attn.k_proj", WIDTH),
    "attn_v": ("self_attn.v_proj", WIDTH),
    "attn_output": ("self_attn.o_proj", WIDTH),
    "ffn_gate": ("mlp.gate_proj", INNER),
    "ffn_up": ("mlp.up_proj", INNER),
    "ffn_down": ("mlp.down_proj", WIDTH),
}


def _tensors(vocabulary: int) -> dict[str, tuple[str, np.ndarray[Any, Any]]]:
    """The tensors by their names in GGUF, each with its name in transformers."""
    generator = np.random.default_rng(0)

    def made(rows: int | None, columns: int) -> np.ndarray[Any, Any]:
        if rows is None:
            return np.ones(WIDTH, np.float32)
        drawn: np.ndarray[Any, Any] = generator.standard_normal((rows or vocabulary, columns)) * 0.05
        return drawn.astype(np.float32)

    tensors = {name: (theirs, made(rows, WIDTH)) for name, (theirs, rows) in OUTER.items()}
    for layer in range(LAYERS):
        for name, (theirs, rows) in LAYER.items():
            tensor = made(rows, INNER if name == "ffn_down" else WIDTH)
            tensors[f"blk.{layer}.{name}"] = (f"model.layers.{layer}.{theirs}", tensor)
    return tensors


def folder(model: Model, path: Path) -> Path:
    """Write the model as a folder that transformers and vLLM load."""
    path.mkdir(parents=True, exist_ok=True)
    tensors = {f"{name}.weight": tensor for name, tensor in _tensors(len(model.tokens)).values()}
    save_file(tensors, path / "model.safetensors", {"format": "pt"})
    stops = [model.id_of(stop) for stop in model.stops]
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "vocab_size": len(model.tokens),
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5,
        "bos_token_id": None,
        "eos_token_id": stops,
        "pad_token_id": stops[0],
    }
    _write(path / "config.json", config)
    _write(path / "generation_config.json", {"eos_token_id": stops, "pad_token_id": stops[0]})
    tokens = {"eos_token": model.stops[0], "pad_token": model.stops[0]}
    _write(path / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **tokens})
    (path / "chat_template.jinja").write_text(model.chat_template, encoding="utf-8")
    model.tokenizer.save(str(path / "tokenizer.json"))
    return path


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def gguf_file(model: Model, path: Path) -> Path:
    """Write the model as a file that llama.cpp loads."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(model.name)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    _add_vocabulary(writer, model)
    for name, (_, tensor) in _tensors(len(model.tokens)).items():
        writer.add_tensor(f"{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_vocabulary(writer: gguf.GGUFWriter, model: Model) -> None:
    merges = json.loads(model.tokenizer.to_str())["model"]["merges"]
    kinds = [gguf.TokenType.CONTROL if token in model.markers else gguf.TokenType.NORMAL for token in model.tokens]
    writer.add_vocab_size(len(model.tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(model.tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    writer.add_eos_token_id(model.id_of(model.stops[0]))
    writer.add_add_bos_token(False)
    writer.add_chat_template(model.chat_template)
