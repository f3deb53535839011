#!/usr/bin/env bash
# Runs an example in an empty folder, and compares what it prints with a file.
#
#   session.sh FOLDER PROGRAM EXPECTED [TOOL]
#
# EXPECTED is NAME.txt, what the program prints to stdout; if NAME.2.txt is beside it, the program runs again in the same folder and
# must then print that. Or it is NAME.session.txt: a line that begins with "$ " is a command for sh, with the program in its folder and
# TOOL, the program `stategraph`, in PATH; the lines after it, up to the next command, are what it prints to stdout and stderr. A command
# may fail: a session that means it to says so with `; echo $?`. Lines "# [begin NAME]" and "# [end NAME]" are for documents that show a
# part (tests/repository/snippets_test.cpp).
#
# An expected line that begins with "~ " is an extended regular expression for the whole line. STATEGRAPH_UPDATE_GOLDEN=1 writes what is
# printed to the file, except for lines that match their expression.
set -uo pipefail
folder=$1 program=$2 expected=$3 tool=${4:-}
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1
ln -s "$program" "$(basename "$expected" | sed 's/\..*//')"
if [ -n "$tool" ]; then PATH=$(dirname "$tool"):$PATH; fi
differs=0
golden=()

# compare WHAT: the lines of `printed` with those of `wanted`; adds to `golden`.
compare() {
  local i count=$((${#printed[@]} > ${#wanted[@]} ? ${#printed[@]} : ${#wanted[@]}))
  for ((i = 0; i < count; i++)); do
    local is=${printed[i]-} should=${wanted[i]-}
    if [ $i -lt ${#printed[@]} ] && [ $i -lt ${#wanted[@]} ] && { [ "$is" = "$should" ] || [[ $should = '~ '* && $is =~ ^(${should:2})$ ]]; }; then
      golden+=("$should")
      continue
    fi
    [ $i -ge ${#wanted[@]} ] && should='(nothing more)'
    if [ $i -ge ${#printed[@]} ]; then is='(nothing more)'; else golden+=("$is"); fi
    differs=1
    printf '%s, line %d\n  expected: %s\n  printed:  %s\n' "$1" $((i + 1)) "$should" "$is"
  done
}
# settle FILE: writes the golden lines if that is wanted, or fails.
settle() {
  if [ -n "${STATEGRAPH_UPDATE_GOLDEN:-}" ]; then
    printf '%s\n' "${golden[@]}" >"$1"
  elif [ $differs = 1 ]; then
    echo "What was printed is not that of $1."
    exit 1
  fi
  golden=()
}

if [[ $expected != *.session.txt ]]; then
  for file in "$expected" "${expected%.txt}.2.txt"; do
    if [ "$file" != "$expected" ] && [ ! -e "$file" ]; then continue; fi
    "$program" >out 2>errors || {
      echo "$program ended with $?; it printed"
      cat out errors
      exit 1
    }
    mapfile -t printed <out
    wanted=()
    if [ -e "$file" ]; then mapfile -t wanted <"$file"; fi
    rm out errors
    compare "$program"
    settle "$file"
  done
  exit
fi

if [ ! -e "$expected" ]; then
  echo "There is no ${expected%.session.txt}.txt and no $expected, which say what $program prints."
  exit 1
fi
mapfile -t lines <"$expected"
command='' wanted=()
run_command() {
  if [ -n "$command" ]; then
    mapfile -t printed < <(sh -c "$command" 2>&1)
    compare "after $ $command"
  fi
  command='' wanted=()
}
for line in "${lines[@]}"; do
  if [[ $line = '$ '* || $line =~ ^#\ \[(begin|end)\  ]]; then
    run_command
    golden+=("$line")
    if [[ $line = '$ '* ]]; then command=${line:2}; fi
  else
    wanted+=("$line")
  fi
done
run_command
settle "$expected"
