#!/usr/bin/env bash
# Runs the official SDK's clients and the protocol's inspector against a server: run.sh PROGRAM FOLDER [--offline]. PROGRAM is
# stategraph-mcp-served; the clients are installed into FOLDER with npm, in pinned versions, unless they are there. Where npm
# reaches no registry, or with --offline where they are not installed, it says so and exits with 77: skipped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "$1")
folder=$2
mkdir -p "$folder"
if ! cmp -s "$here/package.json" "$folder/package.json" || [ ! -d "$folder/node_modules/@modelcontextprotocol/sdk" ]; then
  [ "${3:-}" != --offline ] || { echo "skipped: the clients are not installed; $0 PROGRAM $folder installs them"; exit 77; }
  command -v npm >/dev/null || { echo "skipped: there is no npm to install the clients with"; exit 77; }
  cp "$here/package.json" "$folder/"
  if ! (cd "$folder" && timeout 300 npm install --ignore-scripts --no-audit --no-fund --fetch-retries 1 >npm.log 2>&1); then
    rm -f "$folder/package.json"
    echo "skipped: npm cannot install the clients; the end of $folder/npm.log:"
    tail -3 "$folder/npm.log"
    exit 77
  fi
fi
cp "$here"/*.mjs "$folder/"
cd "$folder"
node=$("$here/../../pages/node.sh" 22 "$PWD") || { echo "skipped: the clients need Node 22 or newer"; exit 77; }
"$node" sdk_test.mjs "$program"
"$node" modern_test.mjs "$program"
"$node" inspector_test.mjs "$program" "$node"
