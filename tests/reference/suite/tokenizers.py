"""Files `tokenizer.json` of every kind, small enough to make, with added tokens of every sort."""

from __future__ import annotations

from random import Random
from typing import Any

File = dict[str, Any]

SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|user|>", "<|end|>", "[INST]", "[/INST]", "<|end|><|user|>"]
ORDINARY = ["<think>", "</think>", "<tool_call>", "</tool_call>", "\n\n", "▁▁", "word", "Stop"]
ADDED = [*SPECIAL, *ORDINARY]
FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")


def byte_names() -> dict[int, str]:
    """The names of bytes in byte-level vocabularies."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {**{byte: chr(byte) for byte in shown}, **{byte: chr(256 + place) for place, byte in enumerate(hidden)}}


def file(vocab: dict[str, int], model: dict[str, Any], **parts: Any) -> File:
    flags = dict.fromkeys(FLAGS, False)
    added = [
        {**flags, "id": len(vocab) + place, "content": text, "special": text in SPECIAL}
        for place, text in enumerate(ADDED)
    ]
    absent = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {"version": "1.0", **absent, "added_tokens": added, "model": {**model, "vocab": vocab}, **parts}


def bpe(**parts: Any) -> dict[str, Any]:
    absent = dict.fromkeys(("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"))
    return {"type": "BPE", **absent, **dict.fromkeys(("fuse_unk", "byte_fallback", "ignore_merges"), False), **parts}


def byte_level() -> File:
    names = byte_names()
    vocab = {names[byte]: byte for byte in range(256)}
    vocab.update({text: 256 + place for place, text in enumerate(["in", "st", "Ġw", "<s", "th"])})
    merges = [["i", "n"], ["s", "t"], ["Ġ", "w"], ["<", "s"], ["t", "h"]]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    return file(vocab, bpe(merges=merges), pre_tokenizer=level, decoder=level)


def byte_fallback(**parts: Any) -> File:
    """Letters, and bytes for what is no letter; spaces are `▁`."""
    vocab = {"<unk>": 0, "▁": 1, "\n": 2, **{f"<0x{byte:02X}>": 3 + byte for byte in range(256)}}
    vocab.update({chr(code): len(vocab) + place for place, code in enumerate(range(33, 127))})
    return file(vocab, bpe(unk_token="<unk>", fuse_unk=True, byte_fallback=True, merges=[]), **parts)


def word_pieces() -> File:
    vocab = {"[UNK]": 0, **{chr(code): 1 + place for place, code in enumerate(range(33, 127))}}
    vocab.update({f"##{chr(code)}": len(vocab) + place for place, code in enumerate(range(97, 123))})
    prefix = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    lower = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return file(
        vocab,
        {"type": "WordPiece", "unk_token": "[UNK]", **prefix},
        normalizer={"type": "BertNormalizer", **lower},
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
    )


def tokenizers() -> dict[str, File]:
    """One of each kind, with a token for every byte or letter."""
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    decoder = {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    prepend = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace]}
    meta = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    return {
        "bytes": byte_level(),
        "prepended spaces": byte_fallback(normalizer=prepend, decoder=decoder),
        "replaced spaces": byte_fallback(normalizer=replace, decoder=decoder),
        "metaspace": byte_fallback(pre_tokenizer=meta, decoder=meta),
        "word pieces": word_pieces(),
    }


def with_flags(r: Random, tokenizer: File) -> File:
    """The same tokenizer with other flags of some added tokens."""
    added = [{**token, **{flag: True for flag in FLAGS if r.random() < 0.25}} for token in tokenizer["added_tokens"]]
    return {**tokenizer, "added_tokens": added}
