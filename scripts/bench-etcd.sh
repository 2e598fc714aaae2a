#!/bin/sh
# Builds the etcd server that `cargo run --release -p siltstone-bench --bin metadata` measures against, from its Go module, and prints the
# program's path. Safe to run again: what is there stays. SILTSTONE_PEERS names another folder than target/peers.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
source=$root/bench/peers/etcd
version=$(sed -n 's/.*go.etcd.io\/etcd\/server\/v3 v\([0-9.]*\)$/\1/p' "$source/go.mod")
if [ -z "$version" ]; then
    echo "bench-etcd: $source/go.mod names no version of go.etcd.io/etcd/server/v3" >&2
    exit 1
fi
peers=${SILTSTONE_PEERS:-$root/target/peers}
program=$peers/etcd-$version

if [ ! -x "$program" ]; then
    if ! command -v go >/dev/null 2>&1; then
        echo "bench-etcd: there is no Go, which etcd $version is built with: https://go.dev/dl" >&2
        exit 1
    fi
    mkdir -p "$peers"
    # Under another name first: a build that was ended leaves no half program behind.
    unfinished=$program.$$
    trap 'rm -f "$unfinished"' EXIT
    (cd "$source" && CGO_ENABLED=0 go build -trimpath -mod=readonly -ldflags '-s -w' -o "$unfinished" .) >&2
    mv "$unfinished" "$program"
fi
echo "$program"
