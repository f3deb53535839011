#!/usr/bin/env bash
# Tests the advisor's page in a headless Chromium, and the AI SDK as its client: run.sh PROGRAM FOLDER [--offline]
#
# PROGRAM is example_advisor. FOLDER keeps the npm packages, which are installed into it in pinned versions unless they are
# there. With --offline nothing is downloaded. Exits with 77, after a line that says why, where something is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/support/npm_packages.sh
. "$here/../support/npm_packages.sh"
program=$(realpath "$1")
folder=$2
mode=${3:-}

command -v npm >/dev/null || skip "there is no npm"
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$chromium" ] || skip "there is no chromium; Debian has it as a package, elsewhere set CHROMIUM"

npm_packages "$folder" node_modules/playwright-core "$mode"
cp "$here"/*.mjs "$folder/"
cp "$here/../../examples/advisor/page/partial_json.js" "$folder/"
cd "$folder"
node=$("$here/node.sh" 22 "$PWD") || skip "the packages need Node 22 or newer"

"$node" partial_json_test.mjs
"$node" page_test.mjs "$program" "$chromium"
"$node" ai_sdk_test.mjs "$program"
