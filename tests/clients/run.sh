#!/usr/bin/env bash
# Runs a client against a server of this library: run.sh FOLDER [--offline] TEST PROGRAM…
#
# TEST is a file of this folder, and PROGRAM what serves, with the test's other arguments. FOLDER keeps the npm packages, which are
# installed into it in pinned versions unless they are there. With --offline nothing is downloaded. Exits with 77, after a line that
# says why, where something is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
mode=online
shift
if [ "${1:-}" = --offline ]; then
  mode=offline
  shift
fi
test=$1
program=$(realpath "$2")
shift 2

skip() {
  echo "skipped: $1"
  exit 77
}

mkdir -p "$folder"
if ! cmp -s "$here/package.json" "$folder/package.json" || [ ! -d "$folder/node_modules/@ag-ui/client" ]; then
  [ $mode = online ] || skip "the npm packages are not in $folder; run tests/clients/run.sh once without --offline"
  command -v npm >/dev/null || skip "there is no npm"
  cp "$here/package.json" "$folder/"
  if ! (cd "$folder" && timeout 300 npm install --ignore-scripts --no-audit --no-fund --fetch-retries 1 >npm.log 2>&1); then
    rm -f "$folder/package.json"
    skip "npm cannot install the clients; the end of $folder/npm.log: $(tail -3 "$folder/npm.log")"
  fi
fi
node=$("$here/../pages/node.sh" 20 "$folder") || skip "the packages need Node 20 or newer"
# Tests that run at the same time write the same files.
for file in "$here"/*.mjs "$here/../pages/served.mjs"; do
  cmp -s "$file" "$folder/$(basename "$file")" || { cp "$file" "$folder/$$.mjs" && mv "$folder/$$.mjs" "$folder/$(basename "$file")"; }
done
cd "$folder"
exec "$node" "$test" "$program" "$@"
