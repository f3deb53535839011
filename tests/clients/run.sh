#!/usr/bin/env bash
# Runs a client against a server of this library: run.sh FOLDER [--offline] TEST PROGRAM…
#
# TEST is a file of this folder, and PROGRAM what serves, with the test's other arguments. FOLDER keeps the npm packages, which are
# installed into it in pinned versions unless they are there. With --offline nothing is downloaded. Exits with 77, after a line that
# says why, where something is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/support/npm_packages.sh
. "$here/../support/npm_packages.sh"
folder=$1
mode=
shift
if [ "${1:-}" = --offline ]; then
  mode=$1
  shift
fi
test=$1
program=$(realpath "$2")
shift 2

npm_packages "$folder" node_modules/@ag-ui/client "$mode"
node=$("$here/../pages/node.sh" 20 "$folder") || skip "the packages need Node 20 or newer"
# Tests that run at the same time write the same files.
for file in "$here"/*.mjs "$here/../pages/served.mjs"; do
  cmp -s "$file" "$folder/$(basename "$file")" || { cp "$file" "$folder/$$.mjs" && mv "$folder/$$.mjs" "$folder/$(basename "$file")"; }
done
cd "$folder"
exec "$node" "$test" "$program" "$@"
