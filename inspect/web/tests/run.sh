#!/usr/bin/env bash
# Tests the inspector's page in a headless Chromium over a real database: run.sh PROGRAM [--offline]
#
# PROGRAM is stategraph-inspected. The npm packages are installed into inspect/web/node_modules, as package-lock.json says, unless they
# are there. With --offline nothing is downloaded. Exits with 77, after a line that says why, where something is missing.
set -euo pipefail
web=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
STATEGRAPH_INSPECTED=$(realpath "$1")
export STATEGRAPH_INSPECTED
mode=${2:-}

skip() {
  echo "skipped: $1"
  exit 77
}

node=$("$web/../../tests/pages/node.sh" 20 "$web/../../build/pages") ||
  skip "Node 20 or newer is needed; tests/pages/run.sh installs one into build/pages"
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$CHROMIUM" ] || skip "there is no chromium; Debian has it as a package, elsewhere set CHROMIUM"
export CHROMIUM
cd "$web"
if [ ! -d node_modules/playwright-core ]; then
  [ "$mode" != --offline ] || skip "the npm packages are not in inspect/web/node_modules; run inspect/web/tests/run.sh once without --offline"
  command -v npm >/dev/null || skip "there is no npm"
  npm ci --ignore-scripts --no-audit --no-fund
fi
# Without its own script, esbuild is there and its program is not linked; the binary package is.
"$node" --test tests/*.test.mjs
