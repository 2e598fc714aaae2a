"""Measures vector search libraries on one thread, for `cargo run --release -p siltstone-bench --bin vector`.

Reads vectors.f32, queries.f32 (rows of 384 little-endian floats of unit length) and bars.f32 (each query's tenth-best cosine) from the folder that is its first
argument, and prints a line of JSON for each engine: its name, seconds to build, bytes a vector, and for each effort the recall and the queries a second.
"""

import json
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

DIMENSION = 384
LIMIT = 10
TOLERANCE = 1e-6
ROUNDS = 3
EFFORTS = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]
DEGREE = 16
EFFORT_BUILD = 200
ENOUGH = 0.992

folder = sys.argv[1]


def load(name):
    return np.fromfile(os.path.join(folder, name), dtype="<f4").reshape(-1, DIMENSION)


vectors, queries = load("vectors.f32"), load("queries.f32")
bars = np.fromfile(os.path.join(folder, "bars.f32"), dtype="<f4")


def recall(rows):
    """Share of rows whose cosine is at least the tenth-best's: near-duplicates are as good as each other."""
    hits = 0
    for query, bar, found in zip(queries, bars, rows):
        found = np.asarray(found)[:LIMIT].astype(np.int64)
        found = np.unique(found[(found >= 0) & (found < len(vectors))])
        # Sums of 384 products in another order than the referee's.
        hits += int((vectors[found] @ query >= bar - 2 * TOLERANCE).sum())
    return hits / (len(queries) * LIMIT)


def measure(name, build_s, bytes_a_vector, search):
    points = []
    for effort in EFFORTS:
        best = float("inf")
        for _ in range(ROUNDS):
            started = time.perf_counter()
            rows = search(effort)
            best = min(best, time.perf_counter() - started)
        points.append([effort, recall(rows), len(queries) / best])
        if points[-1][1] >= ENOUGH:
            break
    print(json.dumps({"name": name, "build_s": build_s, "bytes": bytes_a_vector, "points": points}), flush=True)


def timed(build):
    started = time.perf_counter()
    result = build()
    return result, time.perf_counter() - started


def usearch(dtype):
    from usearch.index import Index

    index = Index(ndim=DIMENSION, metric="cos", dtype=dtype, connectivity=DEGREE, expansion_add=EFFORT_BUILD)
    _, build_s = timed(lambda: index.add(np.arange(len(vectors)), vectors, threads=1))

    def search(effort):
        index.expansion_search = effort
        return index.search(queries, LIMIT, threads=1).keys

    measure(f"usearch HNSW {dtype} (wheel)", build_s, index.memory_usage / len(vectors), search)


def faiss():
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(DIMENSION, DEGREE, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = EFFORT_BUILD
    _, build_s = timed(lambda: index.add(vectors))

    def search(effort):
        index.hnsw.efSearch = effort
        return index.search(queries, LIMIT)[1]

    measure("faiss HNSW f32", build_s, len(faiss.serialize_index(index)) / len(vectors), search)


def svs():
    import svs

    parameters = svs.VamanaBuildParameters(graph_max_degree=2 * DEGREE, window_size=EFFORT_BUILD)
    halves = vectors.astype(np.float16)
    index, build_s = timed(lambda: svs.Vamana.build(parameters, halves, svs.DistanceType.MIP, num_threads=1))
    index.num_threads = 1

    def search(effort):
        index.search_window_size = effort
        return index.search(queries, LIMIT)[0]

    measure("SVS Vamana f16", build_s, DIMENSION * 2 + (2 * DEGREE + 1) * 4, search)


for engine in [lambda: usearch("f32"), lambda: usearch("i8"), faiss, svs]:
    try:
        engine()
    except Exception as error:  # One that cannot run must not hide the others.
        print(json.dumps({"error": repr(error)}), flush=True)
