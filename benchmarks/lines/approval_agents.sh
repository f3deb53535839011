#!/usr/bin/env bash
# Runs the agents that ask before they act (approval_agent*): one after the other, killed in the tool, and approved by two processes at once.
#
#   benchmarks/lines/approval_agents.sh FOLDER build/release/benchmarks/lines/lines_approval_agent
#
# benchmarks/peers/install.sh installs the peers and a Node that is new enough into FOLDER.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(realpath "$1")
ours=$(realpath "$2")
"$here/../peers/install.sh" "$folder"
node=$folder/node
cd "$folder"
cp "$here"/approval_agent_*.ts .

run() { # PROGRAM ask|approve
  if [ "$1" = stategraph ]; then "$ours" "$2"; else "$node" "../approval_agent_$1.ts" "$2"; fi
}
fresh() { # PROGRAM
  rm -rf "$folder/$1"
  mkdir "$folder/$1"
  cd "$folder/$1"
}
calls() { # how often each tool ran
  for tool in listed removed; do
    if [ -f $tool.log ]; then echo -n " $tool $(wc -l <$tool.log)"; else echo -n " $tool 0"; fi
  done
  echo
}
for program in stategraph langgraph ai; do
  fresh $program
  echo "== $program: asked, approved, approved again"
  run $program ask
  run $program approve
  run $program approve
  calls
  ls
  fresh $program
  echo "== $program: killed in the tool"
  run $program ask
  DIE=1 run $program approve || true
  run $program approve
  calls
  for round in 1 2 3 4 5; do
    fresh $program
    run $program ask >out.txt
    run $program approve >>out.txt 2>&1 &
    run $program approve >>out.txt 2>&1 || true
    wait $! || true
    echo -n "== $program: approved by two processes at once, round $round:"
    calls
  done
done
