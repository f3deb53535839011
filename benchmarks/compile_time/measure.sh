#!/usr/bin/env bash
# What the library costs the compiler: CPU seconds of a file with one node, with each further node, of the README's program, and of each public
# header alone. The aim (docs/architecture.md): one node at most 0.6 s on g++ 12, each further node at most 12 ms, on the machine of that time; the
# standard headers that the library includes show how fast this one is.
#
#   benchmarks/compile_time/measure.sh [COMPILER] [RUNS] [JSON]
#
# JSON gets the same as Google Benchmark writes it, for benchmarks/run.sh.
set -eu
cd "$(dirname "$0")/../.."
compiler=${1:-g++}
runs=${2:-9}
json=${3:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

program() {  # NODES
    echo '#include <stategraph/stategraph.hpp>'
    echo 'namespace sg = stategraph;'
    echo 'struct State {'
    for i in 1 2 3 4; do echo "    std::string s$i = {}; int n$i = 0;"; done
    echo '    static constexpr auto channels() { return sg::channels('
    for i in 1 2 3 4; do
        echo "        sg::channel(\"s$i\", &State::s$i), sg::channel(\"n$i\", &State::n$i)$([ "$i" = 4 ] && echo '); }' || echo ',')"
    done
    echo '};'
    echo 'sg::CompiledGraph<State> build() {'
    echo '    sg::StateGraph<State> graph;'
    echo '    graph.addEdge(sg::START, "node1");'
    for i in $(seq 1 "$1"); do
        echo "    graph.addNode(\"node$i\", [](const State& s) -> sg::Update<State> { return {sg::set(&State::s1, s.s2), sg::set(&State::n1, s.n1 + $i)}; });"
    done
    echo '    return graph.compile();'
    echo '}'
    echo 'int main() { return build().invoke({sg::set(&State::n1, 1)}).values.n1; }'
}

cpu() {  # FILE FLAGS...: the least CPU seconds of the runs, which neighbours on the machine disturb least
    local best=999
    for _ in $(seq "$runs"); do
        local seconds
        seconds=$( { TIMEFORMAT='%U %S'; time "$compiler" -std=c++20 -Iinclude "${@:2}" "$1" -o "$folder/out" >/dev/null 2>&1; } 2>&1 | tail -n 1 | awk '{print $1 + $2}')
        best=$(awk -v a="$best" -v b="$seconds" 'BEGIN { print (b < a) ? b : a }')
    done
    echo "$best"
}

program 1 > "$folder/one.cpp"
program 21 > "$folder/many.cpp"
# Boost may have been put beside an older one by scripts/lib/packages.sh.
if [ -d build/boost/usr/include ]; then export CPATH="$PWD/build/boost/usr/include${CPATH:+:$CPATH}"; fi
"$compiler" -std=c++20 -Iinclude -fsyntax-only "$folder/one.cpp"  # a compiler that fails is quick
printf '#include <%s>\n' string vector memory optional > "$folder/standard.cpp"
one=$(cpu "$folder/one.cpp" -c)
standard=$(cpu "$folder/standard.cpp" -c)
readme=$(cpu examples/first.cpp -c)
many=$(cpu "$folder/many.cpp" -c)
printf '%s, %s runs, least CPU seconds\n' "$("$compiler" --version | head -n 1)" "$runs"
printf '%-44s %6.2f s   (aim 0.60)\n' 'a file with one node' "$one"
printf '%-44s %6.1f ms  (aim 12)\n' 'each further node' "$(awk -v a="$one" -v b="$many" 'BEGIN { print (b - a) / 20 * 1000 }')"
printf '%-44s %6.2f s\n' 'the standard headers alone' "$standard"
printf '%-44s %6.2f s\n' "the README's program" "$readme"
for header in stategraph graph channel snapshot codec json; do
    echo "#include <stategraph/$header.hpp>" > "$folder/header.cpp"
    printf '%-44s %6.2f s\n' "<stategraph/$header.hpp> alone" "$(cpu "$folder/header.cpp" -fsyntax-only)"
done

if [ -n "$json" ]; then
    row() { printf '{"name": "compile_time/%s", "run_name": "compile_time/%s", "run_type": "iteration", "real_time": %s, "time_unit": "s"}' "$1" "$1" "$2"; }
    {
        echo '{"context": {"stategraph_build": "Release"}, "benchmarks": ['
        row one_node "$one"
        echo ,
        row standard_headers "$standard"
        echo ,
        row readme_program "$readme"
        echo ,
        row further_node "$(awk -v a="$one" -v b="$many" 'BEGIN { print (b - a) / 20 }')"
        echo ']}'
    } > "$json"
fi
