#!/usr/bin/env bash
# Installs LangGraph.js and the AI SDK, in pinned versions, and the bench program into a folder: install.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=benchmarks/peers/install_peer.sh
. "$here/../install_peer.sh"
install_peer "$here" "$1" ai
echo "LangGraph.js $(version_of @langchain/langgraph), AI SDK $(version_of ai), node $(./node --version)" >versions
