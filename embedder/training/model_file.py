"""Writes a static model's file; `embedder/src/static_model/format.rs` describes its bytes."""

import struct

import numpy as np
import xxhash

MAGIC, VERSION = b"SILTSTAT", 1


def quantise(vectors, weights):
    """i8 numbers and a scale each, of the vectors with their weights multiplied in."""
    weighted = vectors * weights[:, None]
    scales = np.maximum(np.abs(weighted).max(1), 1e-12) / 127
    return np.rint(weighted / scales[:, None]).astype(np.int8), scales.astype("<f4")


def write(path, pieces, vectors, weights, bias, pieces_max):
    numbers, scales = quantise(vectors, weights)
    vocabulary = "".join(piece + "\n" for piece in pieces).encode()
    head = MAGIC + struct.pack("<6I", VERSION, vectors.shape[1], len(pieces), len(vocabulary), pieces_max, 0)
    body = head + bias.astype("<f4").tobytes() + scales.tobytes() + weights.astype("<f4").tobytes() + numbers.tobytes() + vocabulary
    path.write_bytes(body + struct.pack("<Q", xxhash.xxh3_64_intdigest(body)))
    return len(body) + 8
