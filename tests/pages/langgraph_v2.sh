#!/usr/bin/env bash
# Tests LangGraph's SDK as a client of the second protocol: langgraph_v2.sh PROGRAM FOLDER
#
# PROGRAM is stategraph-langgraph-server. FOLDER has the npm packages, which scripts/test.sh --pages installs there. Exits with
# 77, after a line that says why, where something is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "$1")
folder=$2

[ -d "$folder/node_modules/@langchain/langgraph-sdk" ] || { echo "skipped: the npm packages are not in $folder"; exit 77; }
cp "$here/langgraph_v2_test.mjs" "$here/served.mjs" "$folder/"
node=$("$here/node.sh" 22 "$folder") || { echo "skipped: the packages need Node 22 or newer"; exit 77; }
cd "$folder"
"$node" langgraph_v2_test.mjs "$program" "$here/../langgraph/recorded/graphs.json"
