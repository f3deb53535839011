#!/usr/bin/env bash
# Runs five programs that people write, each with stategraph and with two peers, against one scripted server of models, and prints tables: lines, what
# each adds before the first piece of an answer, and what is lost or done twice when the process is killed.
#
#   benchmarks/lines/programs/run.sh FOLDER build/release/benchmarks/lines [PROGRAM…]
#
# benchmarks/peers/install.sh installs the peers and a Node that is new enough into FOLDER. ROUNDS: how often what is measured is repeated (20).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(realpath "$1")
binaries=$(realpath "$2")
shift 2
"$here/../../peers/install.sh" "$folder"
cd "$folder"
./node "$here/programs.mjs" "$folder" "$binaries" "$@"
