#!/usr/bin/env bash
# Builds the workloads (Release), runs each in alternation with its floor and its peers, and prints what they take against the budget.
#
#   ./benchmarks/run.sh                everything; half an hour
#   ./benchmarks/run.sh --quick        small sizes and few repetitions: to try it out, not for figures
#   ./benchmarks/run.sh --only NAME    one workload (a folder of benchmarks/workloads, or compile_time); may be repeated
#   ./benchmarks/run.sh --json FILE    also write the result as JSON there
#   ./benchmarks/run.sh --publish      write it into the repository: benchmarks/results and the tables of benchmarks/README.md
#   ./benchmarks/run.sh --publish-to DIR   the same into another folder, whatever was run
#
# The result is build/bench/results: report.md, report.json, charts/*.svg. Installs what is missing (Debian). LangGraph.js and Mastra take part
# where node is there and npm reaches its registry. CXX, CXXFLAGS and TMPDIR (where the databases go) count. Exit code 0 if everything ran, missed
# budgets included.
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
  fanout_to_subgraph react_loop savers history threads scaling resume workflow agent agent_http serve blocking_nodes async_waits compile_time memory)
workloads=("${all[@]}")
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

need_packages build benchmarks
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
fact rocksdb "$(dpkg-query -W -f '${Version}' librocksdb-dev 2>/dev/null || echo unknown)"
fact databases_in "${TMPDIR:-/tmp} ($(stat -f -c %T "${TMPDIR:-/tmp}"))"
fact quick "$quick"

# -------------------------------------------------------------------------------------------------------------- peers
peer=$repo/benchmarks/peers/langgraphjs
peer_ready=no
if ! have node; then
  note "node was not found: LangGraph.js and Mastra are left out"
elif "$peer/install.sh" "$build/langgraphjs" >"$build/npm.log" 2>&1; then
  peer_ready=yes
  fact peer "$(cat "$build/langgraphjs/versions"), node $(node --version)"
else
  note "LangGraph.js could not be installed (build/bench/npm.log says why): it is left out"
fi
# Only workflows have a counterpart in Mastra.
mastra_ready=no
if have node && [[ " ${workloads[*]} " == *" workflow "* ]]; then
  if "$repo/benchmarks/peers/mastra/install.sh" "$build/mastra" >"$build/npm-mastra.log" 2>&1; then
    mastra_ready=yes
    fact peer_of_workflow "$(cat "$build/mastra/versions")"
  else
    note "Mastra could not be installed (build/bench/npm-mastra.log says why): it is left out"
  fi
fi
# And agents in the AI SDK, and in a LangGraph.js of their own.
agents_ready=no
if have node && [[ " ${workloads[*]} " == *" agent "* ]]; then
  if "$repo/benchmarks/peers/agents/install.sh" "$build/agents" >"$build/npm-agents.log" 2>&1; then
    agents_ready=yes
    fact peers_of_agent "$(cat "$build/agents/versions")"
  else
    note "The AI SDK could not be installed (build/bench/npm-agents.log says why): it is left out"
  fi
fi
# The client of models alone has one in the openai client.
openai_ready=no
if have node && [[ " ${workloads[*]} " == *" agent_http "* ]]; then
  if "$repo/benchmarks/peers/openai/install.sh" "$build/openai" >"$build/npm-openai.log" 2>&1; then
    openai_ready=yes
    fact peer_of_agent_http "$(cat "$build/openai/versions")"
  else
    note "The openai client could not be installed (build/bench/npm-openai.log says why): it is left out"
  fi
fi
# run_peer NAME PART
run_peer() {
  if [ "$1" = agent ]; then
    [ $agents_ready = yes ] || return 0
    (cd "$build/agents" && QUICK=$quick ./node agent.mjs "$results/peer-agents-$2") || note "The peers failed on $1: no figures of them"
    return 0
  fi
  if [ "$1" = agent_http ]; then
    [ $openai_ready = yes ] || return 0
    (cd "$build/openai" && QUICK=$quick ./node client.mjs "$results/peer-openai-$2.json") || note "The openai client failed on $1: no figures of it"
    return 0
  fi
  if [ "$1" = workflow ] && [ $mastra_ready = yes ]; then
    (cd "$build/mastra" && QUICK=$quick ./node workflow.mjs "$results/peer-mastra-$2.json") ||
      note "Mastra failed on $1: no figures of it"
  fi
  [ $peer_ready = yes ] || return 0
  (cd "$build/langgraphjs" && QUICK=$quick node bench.mjs "$1" "$results/peer-$1-$2.json") ||
    note "LangGraph.js failed on $1: no figures of it"
}

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
[ $peer_ready = yes ] || fact peer "LangGraph.js is not there"
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
