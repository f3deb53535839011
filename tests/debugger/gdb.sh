#!/usr/bin/env bash
# Compares what gdb shows of the variables of debugged.cpp: gdb.sh PROGRAM GDB. Exits with 77 where there is no gdb with
# Python, or where it may not debug.
set -euo pipefail
program=$1 gdb=${2:-}
skip() {
  echo "SKIP: $1"
  exit 77
}
[ -x "$gdb" ] || skip "gdb is not installed"
"$gdb" -nx -batch -ex 'python print(1)' >/dev/null 2>&1 || skip "this gdb has no Python"

# The script is found in the program; where it lies must be a place that the user of gdb trusts.
show() {
  ASAN_OPTIONS=detect_leaks=0 "$gdb" -q -nx -batch -iex "set auto-load safe-path $(dirname "$program")" \
    -iex 'set debuginfod enabled off' -ex 'set width 0' -ex 'break stopHere' -ex run -ex up "$@" -ex kill "$program" 2>&1
}
out=$(show -ex 'echo can debug\n') || true
[[ $out == *"main ()"* ]] || skip "gdb may not debug here: $out"

# Each line: a variable, and an extended regular expression for what is shown of it.
expected='text "owls \\"and\\" mice"
nothing null
nested \{"a":\[1\.5,-2\.0\],"b":\[\]\}
number -70000
list \[(7,){499}7?…
large [0-9]+ bytes of CBOR, more than are shown here: call toJson\(\)
id 01a20a57-dd03-7df7-a9d7-7bcb2932e653
none none
task 000102030405060708090a0b0c0d0e0f
thread "order-9"
no_thread ""
update 4 writes = \{\[0\] set title = "owls", \[1\] add reviews = 2, \[2\] add log of work = "wrote", \[3\] clear title = nothing\}
no_update 0 writes
snapshot thread "order-9", step 1, checkpoint [0-9a-f-]{36}, next \[read\], values \{.*"title":"mice".*\}
no_snapshot thread "order-10", step -?[0-9]+, checkpoint none, next \[\], values .*'
arguments=()
while read -r variable _; do
  arguments+=(-ex "printf \"= $variable \"" -ex "output $variable" -ex 'echo \n')
done <<<"$expected"
shown=$(show "${arguments[@]}" | sed -n 's/^= //p')
failed=0
while read -r variable pattern; do
  line=$(grep "^$variable " <<<"$shown") || line=
  if ! [[ $line =~ ^"$variable "$pattern$ ]]; then
    printf 'expected %s %s\nshown    %s\n' "$variable" "$pattern" "$line"
    failed=1
  fi
done <<<"$expected"
exit $failed
