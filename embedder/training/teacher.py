"""The teacher: all-MiniLM-L6-v2, a sentence transformer of BERT's kind. Mean pooling, vectors of length one.

Two ways to run it: its int8 ONNX form, several times faster, for training (mean cosine 0.9995 to the float32 form); and plain numpy from the
safetensors, for the reference vectors of tests.
"""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import scipy.sparse as sparse
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

SPECIAL_IDS = 104
"""Pieces below this id are padding, unknown, and marks of BERT, or unused."""


def _unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class OnnxTeacher:
    def __init__(self, model, tokenizer, tokens_max=64, threads=1):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokens_max = tokens_max

    def vocabulary(self):
        ids = self.tokenizer.get_vocab()
        return sorted(ids, key=ids.get)

    def embed(self, texts, batch=16):
        """float32 [len(texts), 384]; batches hold texts of nearly one length."""
        self.tokenizer.enable_truncation(self.tokens_max)
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = None
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            vectors = self._run([ids[i] for i in rows])
            out = np.zeros((len(ids), vectors.shape[1]), np.float32) if out is None else out
            out[rows] = vectors
        return out

    def embed_pieces(self, count, batch=64):
        """Each piece of the vocabulary alone between the marks of begin and end."""
        begin, end = (self.tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
        return np.vstack([self._run([[begin, i, end] for i in range(at, min(at + batch, count))]) for at in range(0, count, batch)])

    def piece_counts(self, texts, pieces_max):
        """How often each text has each piece, marks left out: sparse [len(texts), vocabulary]."""
        self.tokenizer.no_truncation()
        rows = [
            [i for i in encoding.ids if i >= SPECIAL_IDS][:pieces_max]
            for encoding in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]
        starts = np.cumsum([0] + [len(row) for row in rows])
        pieces = np.concatenate([np.asarray(row, np.int64) for row in rows])
        counts = sparse.csr_matrix((np.ones(len(pieces), np.float32), pieces, starts), (len(rows), self.tokenizer.get_vocab_size()))
        counts.sum_duplicates()
        return counts

    def _run(self, ids):
        longest = max(map(len, ids))
        padded, mask = np.zeros((2, len(ids), longest), np.int64)
        for row, tokens in enumerate(ids):
            padded[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        inputs = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(padded)}
        states = self.session.run(None, inputs)[0]
        return _unit((states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True))


class Teacher:
    def __init__(self, folder, tokens_max=64):
        folder = Path(folder)
        self.config = json.loads((folder / "config.json").read_text())
        weights = load_file(folder / "model.safetensors")
        self.weights = {name.removeprefix("bert."): value.astype(np.float32) for name, value in weights.items() if value.dtype.kind == "f"}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(tokens_max)

    def embed(self, texts, batch=32, progress=None):
        """float32 [len(texts), hidden]; batches hold texts of nearly one length."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        out = np.zeros((len(ids), self.config["hidden_size"]), dtype=np.float32)
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            out[rows] = self._run([ids[i] for i in rows])
            if progress and start // batch % 50 == 0:
                progress(start, len(order))
        return out

    def _linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def _norm(self, x, name):
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(-1, keepdims=True) + self.config["layer_norm_eps"])
        return centred / scale * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def _run(self, ids):
        longest = max(map(len, ids))
        padded = np.zeros((len(ids), longest), dtype=np.int64)
        mask = np.zeros((len(ids), longest), dtype=np.float32)
        for row, tokens in enumerate(ids):
            padded[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        weights = self.weights
        x = weights["embeddings.word_embeddings.weight"][padded]
        x = x + weights["embeddings.position_embeddings.weight"][:longest] + weights["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        heads = self.config["num_attention_heads"]
        size = self.config["hidden_size"] // heads
        bias = (1 - mask)[:, None, None, :] * -1e9
        split = lambda y: y.reshape(len(ids), longest, heads, size).transpose(0, 2, 1, 3)
        for layer in range(self.config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}."
            query, key, value = (split(self._linear(x, at + "attention.self." + part)) for part in ("query", "key", "value"))
            scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(size).astype(np.float32) + bias
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(len(ids), longest, -1)
            x = self._norm(x + self._linear(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
            inner = self._linear(x, at + "intermediate.dense")
            inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2).astype(np.float32)))
            x = self._norm(x + self._linear(inner, at + "output.dense"), at + "output.LayerNorm")
        pooled = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
