"""Writes the tiny random BERT that the tests load, and the vectors that the numpy teacher gives for a few texts.

Run again only when the fixture should change: `python fixture.py ../tests/data/tiny-bert`.
"""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from teacher import Teacher

HIDDEN, INNER, HEADS, LAYERS, POSITIONS = 8, 16, 2, 2, 32
PIECES = """[PAD] [UNK] [CLS] [SEP] the database refuses connection ##s refused is down slow query time ##out disk full node lost leader elect ##ed
. , : ! - / a b c ##a ##b ##c""".split()
TEXTS = [
    "the database refuses connections",
    "Connection refused",
    "node lost: leader elected!",
    "a",
    "unknown words, here",
    "disk full " * 30,
    "query timeout - the database is down / slow query.",
]


def tokenizer():
    mark = lambda piece: {"id": PIECES.index(piece), "special": True, "content": piece, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    ends = {piece: {"id": piece, "ids": [PIECES.index(piece)], "tokens": [piece]} for piece in ("[CLS]", "[SEP]")}
    single = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    return {
        "version": "1.0",
        # Baked in as published models have it: whoever loads it must override both.
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [mark(piece) for piece in PIECES[:4]],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": ends},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: number for number, piece in enumerate(PIECES)},
        },
    }


def weights(rng):
    out = {}
    make = lambda *shape: rng.normal(0, 0.5, shape).astype(np.float32)

    def linear(name, size_in, size_out):
        out[name + ".weight"], out[name + ".bias"] = make(size_out, size_in), make(size_out)

    def norm(name):
        out[name + ".weight"], out[name + ".bias"] = 1 + make(HIDDEN) / 4, make(HIDDEN) / 4

    for name, rows in (("word", len(PIECES)), ("position", POSITIONS), ("token_type", 2)):
        out[f"embeddings.{name}_embeddings.weight"] = make(rows, HIDDEN)
    norm("embeddings.LayerNorm")
    for number in range(LAYERS):
        at = f"encoder.layer.{number}."
        for part in ("query", "key", "value"):
            linear(at + "attention.self." + part, HIDDEN, HIDDEN)
        linear(at + "attention.output.dense", HIDDEN, HIDDEN)
        norm(at + "attention.output.LayerNorm")
        linear(at + "intermediate.dense", HIDDEN, INNER)
        linear(at + "output.dense", INNER, HIDDEN)
        norm(at + "output.LayerNorm")
    return out


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "vocab_size": len(PIECES),
        "layer_norm_eps": 1e-12,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    save_file(weights(np.random.default_rng(1)), folder / "model.safetensors")
    vectors = Teacher(folder, tokens_max=POSITIONS).embed(TEXTS)
    reference = [{"text": text, "vector": [round(float(number), 6) for number in vector]} for text, vector in zip(TEXTS, vectors)]
    (folder / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main()
