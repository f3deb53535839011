#!/usr/bin/env bash
# Tries compilers and machines, and prints a table: ./scripts/compilers.sh [--quick] [--write] [ROW…]
#
# Each row compiles all public headers of the core in one file, with -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror and a plain -I;
# then the library as one source (scripts/amalgamate.py), and a program, which runs, for other machines in qemu. A compiler that is not here
# is a row that says so. Exit code 1 if a row failed.
#
#   --quick    the headers alone; what docs/compilers.md says of the program stays
#   --write    also writes the table into docs/compilers.md
#   ROW        the first word of a row, such as g++-23; without: all rows. What was not tried keeps its row in docs/compilers.md
#   --install  installs the compilers that Debian 12 has, and qemu
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"

quick=no write=no wanted=()
while [ $# -gt 0 ]; do
  case $1 in
  --quick) quick=yes ;;
  --write) write=yes ;;
  --install)
    apt_install clang-16 libc++-16-dev libc++abi-16-dev g++-aarch64-linux-gnu g++-i686-linux-gnu qemu-user
    ;;
  -h | --help)
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  -*) die "unknown option $1; there are --quick, --write and --install." ;;
  *) wanted+=("$1") ;;
  esac
  shift
done

work=$repo/build/compilers
page=$repo/docs/compilers.md
mkdir -p "$work"
cd "$work"
python3 "$repo/scripts/amalgamate.py" "$work" >/dev/null
python3 "$repo/scripts/amalgamate.py" --headers | sed 's/.*/#include <&>/' >headers.cpp
# The headers of Boost and xxHash alone, for compilers of other machines, which do not look into /usr/include.
boost=/usr/include
[ -d "$repo/build/boost/usr/include/boost" ] && boost=$repo/build/boost/usr/include
mkdir -p others
ln -sfn "$boost/boost" others/boost
ln -sfn /usr/include/xxhash.h others/xxhash.h

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
rows=() failed=0

# add NAME DESCRIPTION HEADERS PROGRAM
add() {
  rows+=("| $1 | $2 | $3 | $4 |")
  printf '%-12s %s: headers: %s; program: %s\n' "$1" "$2" "$3" "$4"
}
is_wanted() { [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]; }

# try NAME DESCRIPTION RUNNER COMPILER FLAG…
try() {
  local name=$1 about=$2 runner=$3 compiler=$4 headers program=- started
  shift 4
  is_wanted "$name" || return 0
  if ! have "$compiler"; then
    add "$name" "$about" "not tried: no $compiler" -
    return
  fi
  if "$compiler" -std=c++20 "${warnings[@]}" "-I$repo/include" "$@" -fsyntax-only headers.cpp >"$name.log" 2>&1; then
    headers=silent
  else
    headers="**fails**"
    failed=1
  fi
  if [ $quick = yes ]; then # what the page says of the program stays
    program=$(sed -n "s/^| $name | .* | \([^|]*\) |$/\1/p" "$page")
    program=${program:--}
  elif [ "$headers" = silent ]; then
    started=$SECONDS
    local links=(-lsqlite3)
    [[ " $* " == *" -DSTATEGRAPH_WITHOUT_SQLITE "* ]] && links=()
    if "$compiler" -std=c++20 -O1 -pthread -I. -idirafter others "$@" stategraph.cpp "$repo/tests/amalgamation/program.cpp" \
      "$repo/tests/amalgamation/second.cpp" "${links[@]}" -o "$name.program" >>"$name.log" 2>&1; then
      program="compiled in $((SECONDS - started)) s"
      if (rm -f trips.db*; timeout 300 $runner "./$name.program") >"$name.out" 2>>"$name.log" &&
        diff <(if [ ${#links[@]} -gt 0 ]; then cat; else sed '/^SQLite/,+2d'; fi <"$repo/tests/amalgamation/expected.txt") "$name.out" \
          >>"$name.log"; then
        program+=", ran"
      else
        program="**fails** when it runs"
        failed=1
      fi
    else
      program="**does not compile**"
      failed=1
    fi
  fi
  add "$name" "$about" "$headers" "$program"
}

# refused NAME DESCRIPTION SENTENCE COMPILER FLAG…: the headers must say the sentence.
refused() {
  local name=$1 about=$2 sentence=$3 compiler=$4
  shift 4
  is_wanted "$name" || return 0
  if ! have "$compiler"; then
    add "$name" "$about" "not tried: no $compiler" -
  elif "$compiler" -std=c++20 "-I$repo/include" "$@" -fsyntax-only headers.cpp >"$name.log" 2>&1 || ! grep -q "$sentence" "$name.log"; then
    failed=1
    add "$name" "$about" "**no sentence**" -
  else
    add "$name" "$about" "refused: \"$(grep -oE "${sentence}[^\"']*" "$name.log" | head -n 1)\"" -
  fi
}

other=(-DSTATEGRAPH_WITHOUT_SQLITE)
libcxx=(-stdlib=libc++ -fexperimental-library)
qemu="qemu-aarch64 -L /usr/aarch64-linux-gnu"
try g++-20 "g++ $(g++ -dumpfullversion), C++20" "" g++
try g++-23 "g++ $(g++ -dumpfullversion), C++23" "" g++ -std=c++23
try clang-20 "clang 16, libstdc++, C++20" "" clang++-16
try clang-23 "clang 16, libstdc++, C++23" "" clang++-16 -std=c++2b
refused libc++-16 "clang 16, libc++ 16, C++20" "stategraph: this standard library" clang++-16 "${libcxx[@]}"
try libc++-19 "clang 19, libc++ 19, C++20" "" clang++-19 "${libcxx[@]}"
try aarch64 "aarch64: g++ 12, C++20, without SQLite, in qemu" "$qemu" aarch64-linux-gnu-g++ "${other[@]}" -static-libstdc++
refused exceptions "-fno-exceptions" "stategraph: exceptions" g++ -fno-exceptions
refused 32-bit "32-bit: g++ 12 for i686" "stategraph: a 64-bit" i686-linux-gnu-g++

if [ $write = yes ]; then
  heading='| row | compiler and machine | public headers | program |'
  {
    sed "/^$heading\$/q" "$page"
    echo "|---|---|---|---|"
    # A row that was not tried now stays.
    for name in g++-20 g++-23 clang-20 clang-23 libc++-16 libc++-19 aarch64 exceptions 32-bit; do
      printf '%s\n' "${rows[@]}" | grep -F "| $name |" || grep -F "| $name |" "$page" || true
    done
    sed "1,/^$heading\$/d" "$page" | sed -n '/^$/,$p'
  } >page.md
  cat page.md >"$page"
fi
exit $failed
