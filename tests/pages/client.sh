#!/usr/bin/env bash
# Runs a test of a page, or of a client in JavaScript: client.sh FOLDER TEST PROGRAM…
#
# TEST is a file of this folder, and PROGRAM what serves, with the test's other arguments. FOLDER has the npm packages, which
# scripts/test.sh --pages installs there. Exits with 77, after a line that says why, where something is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(realpath "$1") test=$2
program=$(realpath "$3")
shift 3

[ -d "$folder/node_modules/@langchain/langgraph-sdk" ] || { echo "skipped: the npm packages are not in $folder"; exit 77; }
node=$("$here/node.sh" 22 "$folder") || { echo "skipped: the packages need Node 22 or newer"; exit 77; }
# Tests that run at the same time write the same files.
for file in "$here/$test" "$here/served.mjs"; do
  cmp -s "$file" "$folder/$(basename "$file")" || { cp "$file" "$folder/$$.mjs" && mv "$folder/$$.mjs" "$folder/$(basename "$file")"; }
done
cd "$folder"
exec "$node" "$test" "$program" "$@"
