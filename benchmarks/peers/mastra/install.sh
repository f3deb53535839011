#!/usr/bin/env bash
# Installs Mastra, in a pinned version, and the bench program into a folder: install.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=benchmarks/peers/install_peer.sh
. "$here/../install_peer.sh"
install_peer "$here" "$1" @mastra/core
echo "Mastra $(version_of @mastra/core), node $(./node --version)" >versions
