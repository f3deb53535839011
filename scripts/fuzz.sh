#!/usr/bin/env bash
# Builds the fuzzers with clang (libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer) in build/fuzz and runs them.
#
#   ./scripts/fuzz.sh SECONDS [TARGET]   each target, or one (record, scenario, partial_json, thread_lines; json, schema, sse, mcp,
#                                        workflow_json, request), for so long
#   ./scripts/fuzz.sh --corpus           writes what record and thread_lines begin with into tests/fuzz/corpus
#
# They begin with tests/fuzz/corpus/TARGET or tests/fuzz_products/corpus/TARGET; what they learn is kept in build/fuzz/learned/TARGET. An input that fails is named at the end:
# copy it into the corpus, where the normal tests replay it. CXX names another clang++.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$repo/build/fuzz
cxx=${CXX:-clang++-16}

case ${1:-} in
--corpus) targets=(record thread_lines) ;;
[1-9]*)
  seconds=$1
  targets=(record scenario partial_json thread_lines json schema sse mcp workflow_json request)
  if [ $# -gt 1 ]; then targets=("$2"); fi
  ;;
*)
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
  ;;
esac

mkdir -p "$build"
cmake -S "$repo" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
  -DSTATEGRAPH_BUILD_FUZZERS=ON -DSTATEGRAPH_BUILD_TESTS=OFF -DSTATEGRAPH_BUILD_EXAMPLES=OFF -DSTATEGRAPH_BUILD_BENCHMARKS=OFF \
  -DSTATEGRAPH_WITH_ROCKSDB=OFF -DSTATEGRAPH_INSTALL=OFF >"$build/configure.log" || {
  cat "$build/configure.log"
  exit 1
}
cmake --build "$build" --target "${targets[@]/#/fuzz_}"

if [ "$1" = --corpus ]; then
  for target in "${targets[@]}"; do STATEGRAPH_WRITE_CORPUS=$repo/tests/fuzz/corpus/$target "$build/fuzz_$target"; done
  exit
fi

failed=0
for target in "${targets[@]}"; do
  mkdir -p "$build/learned/$target"
  corpus=$repo/tests/fuzz/corpus/$target
  [ -d "$corpus" ] || corpus=$repo/tests/fuzz_products/corpus/$target
  # Some are text: a dictionary of their words helps more than bytes.
  words=()
  if [ -f "$repo/tests/fuzz/$target.dict" ]; then words=("-dict=$repo/tests/fuzz/$target.dict"); fi
  "$build/fuzz_$target" -max_total_time="$seconds" -max_len=8192 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/$target-" "${words[@]}" "$build/learned/$target" "$corpus" || failed=1
done
exit $failed
