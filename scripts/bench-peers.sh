#!/bin/sh
# Installs the vector search libraries that `cargo run --release -p siltstone-bench --bin vector` measures against, and prints the Python that has them.
# Safe to run again: what is there stays. SILTSTONE_PEERS names another folder than target/peers.
set -eu

NUMPY_VERSION=2.4.6
USEARCH_VERSION=2.26.6
FAISS_VERSION=1.15.1
SVS_VERSION=0.5.0

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${SILTSTONE_PEERS:-$root/target/peers}/vector-$USEARCH_VERSION-$FAISS_VERSION-$SVS_VERSION

if [ ! -f "$venv/complete" ]; then
    rm -rf "$venv"
    mkdir -p "$(dirname "$venv")"
    python3 -m venv "$venv" >&2
    "$venv/bin/pip" install --quiet --disable-pip-version-check \
        "numpy==$NUMPY_VERSION" "usearch==$USEARCH_VERSION" "faiss-cpu==$FAISS_VERSION" "scalable-vs==$SVS_VERSION" >&2
    touch "$venv/complete"
fi
echo "$venv/bin/python"
