#!/usr/bin/env bash
# Kills processes in the middle of graphs, for a while: the long form of the tests kill.*.
#
#   ./scripts/kill_run.sh             preset release
#   ./scripts/kill_run.sh --dev       preset dev
#   ./scripts/kill_run.sh --kills N   kills per durability (300)
#   ./scripts/kill_run.sh --seed S    (a random one, which is printed)
#
# It kills 300 times at random for each durability, kills before and after every put of a run, hands over 100 times at SIGTERM for each
# durability, and lets 2, 3 and 5 processes drive the same threads of a SQLite file, killed and frozen. It takes about half an hour. The exit code is 0 if every promise was kept; otherwise the files are in the folder that is named.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"

preset=release
kills=300
seed=()
while [ $# -gt 0 ]; do
  case $1 in
  --dev) preset=dev ;;
  --kills | --seed)
    [ $# -gt 1 ] || die "$1 needs a value."
    if [ "$1" = --kills ]; then kills=$2; else seed=(--seed "$2"); fi
    shift
    ;;
  -h | --help)
    sed -n '2,10s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *) die "unknown option $1; there are --dev, --kills and --seed." ;;
  esac
  shift
done

need_packages build tests
export CXX=$cxx
cd "$repo"
say "$preset: building"
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target stategraph-kill stategraph-kill-child

program=$repo/build/$preset/stategraph-kill
say "kills at random times"
"$program" --kills "$kills" "${seed[@]}"
say "a death at every put"
"$program" --mode puts "${seed[@]}"
say "hand-overs at SIGTERM"
"$program" --mode sigterm --kills 100 "${seed[@]}"
say "rivals"
for rivals in 2 3 5; do
  "$program" --mode rivals --saver sqlite --rivals $rivals --kills 50 "${seed[@]}"
done
say "every promise was kept"
