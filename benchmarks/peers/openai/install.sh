#!/usr/bin/env bash
# Installs the openai client, in a pinned version, and the bench program into a folder: install.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=benchmarks/peers/install_peer.sh
. "$here/../install_peer.sh"
install_peer "$here" "$1" openai
echo "openai $(version_of openai), node $(./node --version)" >versions
