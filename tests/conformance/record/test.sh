#!/usr/bin/env bash
# Tests what records scenarios anew, as far as it needs no npm: test.sh SCENARIOS...
#
# Exits with 77, after a line that says why, where there is no node.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
node=$("$here/../../pages/node.sh" 18 "$here/../../../build/pages") || {
  echo "skipped: there is no Node 18 or newer"
  exit 77
}
"$node" "$here/record_test.mjs" "$@"
