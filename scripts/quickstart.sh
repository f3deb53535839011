#!/usr/bin/env bash
# Installs what is missing (Debian), builds the library and examples/quickstart.cpp, and runs it twice on RocksDB: the
# second run finds the thread that the first one left.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"

if [ $# -gt 0 ]; then
  sed -n '2,3s/^# //p' "$0"
  [ "$1" = --help ] || [ "$1" = -h ] || die "quickstart.sh takes no arguments."
  exit 0
fi

need_packages build
export CXX=$cxx

build=$repo/build/quickstart
mkdir -p "$repo/build"
say "Configuring a release build in build/quickstart"
cmake -S "$repo" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTATEGRAPH_WITH_ROCKSDB=ON \
  -DSTATEGRAPH_BUILD_TESTS=OFF -DSTATEGRAPH_BUILD_BENCHMARKS=OFF -DSTATEGRAPH_TOGETHER=10 >"$build.log" 2>&1 || {
  cat "$build.log"
  die "configuring failed."
}

say "Building the library and examples/quickstart.cpp (three to four minutes on two cores the first time)"
cmake --build "$build" --target example_quickstart

folder=$build/run
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
say "Running it in an empty folder (build/quickstart/run): its checkpoints go to a RocksDB database there"
"$build/examples/example_quickstart"
echo
say "Running it again: a new process, the same database"
"$build/examples/example_quickstart"
echo
say "Done. The code is examples/quickstart.cpp; to run it again: cd build/quickstart/run && ../examples/example_quickstart"
say "Next: docs/tutorials/first_graph.md; to install the library, README.md, \"Install\""
