#!/usr/bin/env bash
# Builds the workloads (Release), runs each in alternation with its floor and its peers, and prints what they take against the budget.
#
#   ./benchmarks/run.sh                everything; more than half an hour
#   ./benchmarks/run.sh --quick        what the README's lines need, with small sizes and few repetitions: to try it out, not for figures
#   ./benchmarks/run.sh --only NAME    one workload (a folder of benchmarks/workloads, or compile_time); may be repeated
#   ./benchmarks/run.sh --json FILE    also write the result as JSON there
#   ./benchmarks/run.sh --publish      write it into the repository: benchmarks/results and the tables of benchmarks/README.md
#   ./benchmarks/run.sh --publish-to DIR   the same into another folder, whatever was run
#
# The result is build/bench/results: report.md, report.json, charts/*.svg. Installs what is missing (Debian). The peers of benchmarks/peers take
# part where node is there and npm reaches its registry. A PostgreSQL server is started, unless STATEGRAPH_BENCH_POSTGRES names one. CXX, CXXFLAGS
# and TMPDIR (where the databases go) count. Exit code 0 if everything ran, missed budgets included.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"

command="./benchmarks/run.sh${*:+ $*}"
quick=no
only=()
json=
publish=
while [ $# -gt 0 ]; do
  case $1 in
  --quick) quick=yes ;;
  --publish) publish=$repo/benchmarks/results ;;
  --only | --json | --publish-to)
    [ $# -ge 2 ] || die "$1 needs a value."
    case $1 in
    --only) only+=("$2") ;;
    --json) json=$2 ;;
    --publish-to) publish=$2 ;;
    esac
    shift
    ;;
  -h | --help)
    sed -n '2,13s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *) die "unknown option $1; there are --quick, --only NAME, --json FILE, --publish and --publish-to DIR." ;;
  esac
  shift
done
case $json in "" | /*) ;; *) json=$PWD/$json ;; esac
case $publish in "" | /*) ;; *) publish=$PWD/$publish ;; esac
in_repo=no
if [ "$publish" = "$repo/benchmarks/results" ]; then
  in_repo=yes
  if [ $quick = yes ] || [ ${#only[@]} -gt 0 ]; then
    die "--publish needs the figures of all workloads: leave out --quick and --only." "To try it out: --publish-to DIR"
  fi
fi
cd "$repo"

# In the order in which they are run.
all=(superstep chain chain_1000 fan_out send_1000 growing_thread wide_state wide_dict pydantic_state sequential
  fanout_to_subgraph react_loop savers three_steps history threads scaling resume workflow agent agent_http serve blocking_nodes async_waits
  compile_time size memory)
workloads=("${all[@]}")
# The lines of the README.
if [ $quick = yes ]; then workloads=(superstep chain fan_out growing_thread savers three_steps); fi
if [ ${#only[@]} -gt 0 ]; then
  workloads=("${only[@]}")
  for name in "${only[@]}"; do
    case " ${all[*]} " in *" $name "*) ;; *) die "there is no workload $name." "There are: ${all[*]}" ;; esac
  done
fi

case "${CMAKE_BUILD_TYPE:-Release}" in
Release) ;;
*) die "REFUSED: CMAKE_BUILD_TYPE is $CMAKE_BUILD_TYPE. Figures of anything but a Release build mean nothing." ;;
esac

need_packages build benchmarks postgres
export CXX=$cxx

build=$repo/build/bench
results=$build/results
say "Building the workloads (Release, build/bench)"
mkdir -p "$build"
cmake -S "$repo" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTATEGRAPH_BUILD_TESTS=OFF -DSTATEGRAPH_BUILD_EXAMPLES=OFF \
  -DSTATEGRAPH_WITH_ROCKSDB=ON -DSTATEGRAPH_INSTALL=OFF >"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log" >&2; die "configuring failed; see above."; }
cmake --build "$build" --target stategraph-workloads

rm -rf "$results"
mkdir -p "$results"

# ------------------------------------------------------------------------------------------------------------- facts
fact() { printf '%s=%s\n' "$1" "$2" >>"$results/facts"; }
cache() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" | head -n 1; }
fact command "$command"
fact date "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
fact machine "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(awk '/MemTotal/ {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo)"
fact system "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), Linux $(uname -r)"
fact load_before "$(cut -d' ' -f1-3 /proc/loadavg)"
fact compiler "$("$cxx" --version | head -n 1)"
fact flags "$(cache CMAKE_CXX_FLAGS) $(cache CMAKE_CXX_FLAGS_RELEASE)"
fact revision "$(git rev-parse --short HEAD 2>/dev/null || echo none)$(git diff --quiet HEAD 2>/dev/null || echo ', with changes')"
fact tbb "$(dpkg-query -W -f '${Version}' libtbb-dev 2>/dev/null || echo none)"
fact rocksdb "$(dpkg-query -W -f '${Version}' librocksdb-dev 2>/dev/null || echo unknown)"
fact databases_in "${TMPDIR:-/tmp} ($(stat -f -c %T "${TMPDIR:-/tmp}"))"
fact quick "$quick"

# -------------------------------------------------------------------------------------------------------------- peers
peers_ready=no
if ! have node; then
  note "node was not found: the peers that need it are left out"
elif "$repo/benchmarks/peers/install.sh" "$build/peers" >"$build/npm.log" 2>&1; then
  peers_ready=yes
  fact peers "$(cat "$build/peers/versions")"
  [ $quick = yes ] || "$repo/benchmarks/peers/newer.sh" | while read -r line; do note "$line"; done
else
  note "The peers could not be installed (build/bench/npm.log says why): they are left out"
fi
# run_peer NAME PART
run_peer() {
  [ $peers_ready = yes ] || return 0
  local out=$results/peer-$1-$2
  case $1 in
  agent | three_steps) set -- "$1.mjs" "$out" ;; # programs of several peers
  agent_http) set -- client.mjs "$out.json" ;;
  workflow) set -- workflow.mjs "$out.json" ;;
  *) set -- bench.mjs "$1" "$out.json" ;;
  esac
  (cd "$build/peers" && QUICK=$quick ./node "$@") || note "$1 failed: no figures of its peers"
}

# One server for all that use PostgreSQL, ours and the peers'; it ends with this script. Without one those cases are left out.
if [ -z "${STATEGRAPH_BENCH_POSTGRES:-}" ] && [[ " ${workloads[*]} " =~ \ (savers|three_steps)\  ]]; then
  server=${TMPDIR:-/tmp}/stategraph-bench-server-$$
  if "$repo/tests/storage/postgres/server.sh" start "$server" $$ >"$build/postgres.log" 2>&1; then
    export STATEGRAPH_BENCH_POSTGRES="host=$server user=sg dbname=postgres"
    fact postgres "$(psql -h "$server" -U sg -d postgres -Atc 'SHOW server_version' 2>/dev/null || echo unknown)"
  else
    note "No PostgreSQL server could be started (build/bench/postgres.log says why): its cases are left out"
  fi
fi

# -------------------------------------------------------------------------------------------------------------- running
repetitions=7 min_time=0.1
if [ $quick = yes ]; then
  repetitions=3 min_time=0.01
  export STATEGRAPH_BENCH_QUICK=1
fi
failed=()
for name in "${workloads[@]}"; do
  say "$name"
  if [ "$name" = compile_time ]; then
    benchmarks/compile_time/measure.sh "$cxx" "$([ $quick = yes ] && echo 1 || echo 5)" "$results/workload-compile_time.json" || failed+=("$name")
    continue
  fi
  run_peer "$name" before
  "$build/benchmarks/bench_$name" --benchmark_enable_random_interleaving=true --benchmark_repetitions=$repetitions \
    --benchmark_min_time=$min_time --benchmark_format=json --benchmark_out="$results/workload-$name.json" \
    --benchmark_out_format=json >/dev/null 2>"$results/$name.log" ||
    { cat "$results/$name.log" >&2; rm -f "$results/workload-$name.json"; failed+=("$name"); }
  grep '^soak_' "$results/$name.log" || true
  run_peer "$name" after
done
fact load_after "$(cut -d' ' -f1-3 /proc/loadavg)"
[ $peers_ready = yes ] || fact peers "none but oneTBB, if it is installed"
[ ${#failed[@]} -eq 0 ] || fact failed "${failed[*]}"

# ------------------------------------------------------------------------------------------------------------- report
mkdir -p "$results/charts"
"$build/benchmarks/stategraph-bench-report" "$results" "$repo/benchmarks" "$results/report.json" | tee "$results/report.md"
for script in "$results"/charts/*.gp; do
  if [ -e "$script" ]; then gnuplot "$script" || failed+=("the chart $(basename "$script" .gp)"); fi
done
if [ -n "$json" ]; then cp "$results/report.json" "$json"; fi
say "In $results: report.md, report.json, charts"

# ------------------------------------------------------------------------------------------------------------ publish
# Replaces the text between two marks of benchmarks/README.md by the facts, the budget and the growth; all cases stay in results/table.md.
fill_readme() {
  local readme=$repo/benchmarks/README.md filled=$results/README.md
  if ! grep -q '^<!-- results: ' "$readme" || ! grep -q '^<!-- end of results -->$' "$readme"; then
    die "benchmarks/README.md has lost its marks for results."
  fi
  awk -v table="$1" '
    /^<!-- results: / {
      print
      while ((getline line <table) > 0 && line != "### All cases") print line
      skipping = 1
    }
    /^<!-- end of results -->$/ { skipping = 0 }
    !skipping' "$readme" >"$filled"
  cat "$filled" >"$readme"
}
if [ -n "$publish" ]; then
  rm -rf "$publish/charts"
  mkdir -p "$publish/charts"
  cp "$results/report.json" "$publish/results.json"
  cp "$results/report.md" "$publish/table.md"
  for chart in "$results"/charts/*.svg; do
    if [ -e "$chart" ]; then cp "$chart" "$publish/charts/"; fi
  done
  if [ $in_repo = yes ]; then fill_readme "$publish/table.md"; fi
  say "In $publish: table.md, results.json, charts"
fi
if [ ${#failed[@]} -gt 0 ]; then die "failed: ${failed[*]}"; fi
