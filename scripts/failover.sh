#!/usr/bin/env bash
# Fails a PostgreSQL cluster over, again and again, while a front end and four workers use it, and checks what they were promised.
#
#   ./scripts/failover.sh [N]         N failovers (50), of kinds that take turns in an order of chance
#   ./scripts/failover.sh --seed S    (a random one, which is printed)
#   ./scripts/failover.sh --kinds K   some of crash,kill,stop,cut,full,switch,clock (tests/failover/failover.py says what they are)
#   ./scripts/failover.sh --history   adds what came out to benchmarks/results/failover.md
#   ./scripts/failover.sh --keep      keeps the folder with logs and journals, which stays after a failure in any case
#   ./scripts/failover.sh --dev       preset dev instead of release; --program FILE: a stategraph-failover that is built
#
# It installs what is missing (Debian: patroni, etcd-server, postgresql, faketime; their services are not started), builds
# stategraph-failover, and starts three servers under Patroni on ports of 127.0.0.1 and in a temporary folder. All of it ends
# with the script, also at Ctrl-C. 50 failovers take about 25 minutes on two busy cores. The exit code is 0 if nothing that was
# acknowledged with `sync` is lost, nothing that is to happen once happened twice, and everything continued.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"

preset=release
count=50
program=
options=()
while [ $# -gt 0 ]; do
  case $1 in
  --dev) preset=dev ;;
  --keep) options+=(--keep) ;;
  --history) options+=(--history "$repo/benchmarks/results/failover.md") ;;
  --program | --seed | --kinds)
    [ $# -gt 1 ] || die "$1 needs a value."
    if [ "$1" = --program ]; then program=$2; else options+=("$1" "$2"); fi
    shift
    ;;
  -h | --help)
    sed -n '2,15s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    [[ $1 =~ ^[1-9][0-9]*$ ]] || die "unknown option $1; there are N, --seed, --kinds, --history, --keep, --dev and --program."
    count=$1
    ;;
  esac
  shift
done

need_packages build postgres failover
cd "$repo"
if [ -z "$program" ]; then
  export CXX=$cxx
  say "$preset: building"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --target stategraph-failover
  program=$(find "$repo/build/$preset" -name stategraph-failover -type f | head -n 1)
fi
exec /usr/bin/python3 tests/failover/failover.py "$program" "$count" "${options[@]}"
