#!/usr/bin/env bash
# Runs a program against the protocol's own example server: run.sh PROGRAM FOLDER [--offline]. PROGRAM is stategraph-mcp-everything; the server is
# installed into FOLDER with npm, in a pinned version, unless it is there. Where npm reaches no registry, or with --offline where it is not
# installed, it says so and exits with 77: skipped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/support/npm_packages.sh
. "$here/../../support/npm_packages.sh"
program=$(realpath "$1")
folder=$2
server=node_modules/@modelcontextprotocol/server-everything/dist/index.js
command -v node >/dev/null || skip "there is no node"
npm_packages "$folder" "$server" "${3:-}"
server=$(realpath "$folder/$server")
web=''
trap 'kill $web 2>/dev/null || true' EXIT
# Another program may take the port before the server has it: then the server ends, and another port is tried.
for _ in $(seq 5); do
  port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
  PORT=$port node "$server" streamableHttp >"$folder/http.log" 2>&1 &
  web=$!
  for _ in $(seq 3000); do
    if ! kill -0 "$web" 2>/dev/null; then continue 2; fi
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break 2; fi
    sleep 0.1
  done
done
"$program" "$(command -v node)" "$server" "http://127.0.0.1:$port/mcp"
