#!/usr/bin/env bash
# Lines of the same programs in LangGraph Python and with stategraph, without blank lines and lines that are only a comment. approval_agent is there
# for LangGraph.js and the AI SDK (TypeScript) too.
#
#   benchmarks/lines/count.sh
set -eu
cd "$(dirname "$0")"
printf '| program | LangGraph Python | stategraph | ratio |\n|---|---|---|---|\n'
for program in quickstart approval agent approval_agent pipeline server; do
    python=$(grep -vcE '^\s*(#.*)?$' "$program.py")
    cpp=$(grep -vcE '^\s*(//.*)?$' "$program.cpp")
    awk -v n="$program" -v p="$python" -v c="$cpp" 'BEGIN { printf "| %s | %d | %d | %.2f |\n", n, p, c, c / p }'
done
printf '\n| approval_agent in | lines |\n|---|---|\n'
for peer in "langgraph LangGraph.js" "ai AI SDK"; do
    lines=$(grep -vcE '^\s*(//.*)?$' "approval_agent_${peer%% *}.ts")
    printf '| %s | %d |\n' "${peer#* }" "$lines"
done
