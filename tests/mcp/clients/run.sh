#!/usr/bin/env bash
# Runs the official SDK's clients and the protocol's inspector against a server: run.sh PROGRAM FOLDER [--offline]. PROGRAM is
# stategraph-mcp-served; the clients are installed into FOLDER with npm, in pinned versions, unless they are there. Where npm
# reaches no registry, or with --offline where they are not installed, it says so and exits with 77: skipped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/support/npm_packages.sh
. "$here/../../support/npm_packages.sh"
program=$(realpath "$1")
folder=$2
npm_packages "$folder" node_modules/@modelcontextprotocol/sdk "${3:-}"
cp "$here"/*.mjs "$folder/"
cd "$folder"
node=$("$here/../../pages/node.sh" 22 "$PWD") || skip "the clients need Node 22 or newer"
"$node" sdk_test.mjs "$program"
"$node" modern_test.mjs "$program"
"$node" inspector_test.mjs "$program" "$node"
