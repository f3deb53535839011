#!/usr/bin/env bash
# Installs LangGraph.js, in pinned versions, and the bench program into a folder: install.sh FOLDER. Nothing is fetched if it is there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
mkdir -p "$folder"
if ! cmp -s "$here/package.json" "$folder/package.json" ||
  [ ! -d "$folder/node_modules/@langchain/langgraph-checkpoint-postgres" ]; then
  cp "$here/package.json" "$folder/"
  (cd "$folder" && npm install --legacy-peer-deps --ignore-scripts --no-audit --no-fund) || { rm -f "$folder/package.json"; exit 1; }
fi
cp "$here"/*.mjs "$folder/"
cd "$folder"
node -p '"LangGraph.js " + require("./node_modules/@langchain/langgraph/package.json").version' >versions
