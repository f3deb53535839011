#!/usr/bin/env bash
# Random graphs under random disturbances, for a while: the long form of the test random/random.
#
#   ./scripts/random_run.sh HOURS         preset release; HOURS may be 0.5
#   ./scripts/random_run.sh HOURS --dev   preset dev
#   ./scripts/random_run.sh HOURS --seed S   begins at this seed (a random one)
#
# Each seed is one graph and four threads on it, and the same each time. What went wrong is printed with its seed, the graph, the calls that were
# made and a simpler graph that goes wrong too; the output of a program that crashed or hung (10 minutes for 200 graphs) ends with the call that it
# was in. STATEGRAPH_RANDOM_SEED=S STATEGRAPH_RANDOM_GRAPHS=1 repeats one. The exit code is 0 if every thread ended as without disturbances.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"

preset=release
hours=
seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
while [ $# -gt 0 ]; do
  case $1 in
  --dev) preset=dev ;;
  --seed)
    [ $# -gt 1 ] || die "$1 needs a value."
    seed=$2
    shift
    ;;
  -h | --help)
    sed -n '2,10s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *) hours=$1 ;;
  esac
  shift
done
[ -n "$hours" ] || die "the number of hours is missing; give it as the first argument."

need_packages build tests
export CXX=$cxx
cd "$repo"
say "$preset: building"
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target tests-random

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
until=$(awk -v now="$(date +%s)" -v hours="$hours" 'BEGIN { printf "%d", now + hours * 3600 }')
tried=0
while [ "$(date +%s)" -lt "$until" ]; do
  say "seeds $seed to $((seed + 199))"
  if ! STATEGRAPH_RANDOM_VERBOSE=1 STATEGRAPH_RANDOM_SEED=$seed STATEGRAPH_RANDOM_GRAPHS=200 timeout 600 \
    "$repo/build/$preset/tests-random" '-sf=*/tests/random/*' --no-intro >out 2>&1; then
    sed -n '/ERROR:/,$p' out
    tail -n 20 out
    die "a thread with one of these seeds failed; its output is above."
  fi
  seed=$((seed + 200))
  tried=$((tried + 200))
done
say "$tried graphs; every thread ended as without disturbances"
