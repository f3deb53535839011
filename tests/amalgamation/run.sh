#!/usr/bin/env bash
# Makes the library as one header and one source twice, which must be the same bytes; compiles the source alone, links it with a program of
# two files, and compares what the program prints.
#
#   run.sh PYTHON COMPILER FOLDER [FLAG…]    flags are for all files, such as -DSTATEGRAPH_WITHOUT_SQLITE and where headers are
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
python=$1 compiler=$2 folder=$3
shift 3
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

"$python" "$repo/scripts/amalgamate.py" .
"$python" "$repo/scripts/amalgamate.py" again >/dev/null
cmp stategraph.hpp again/stategraph.hpp
cmp stategraph.cpp again/stategraph.cpp
if grep -n '#include "' stategraph.hpp stategraph.cpp | grep -v '"stategraph.hpp"'; then
  echo "These files are not in the amalgamation."
  exit 1
fi

links=(-lsqlite3)
expected=$here/expected.txt
case " $* " in *" -DSTATEGRAPH_WITHOUT_SQLITE "*)
  links=()
  sed '/^SQLite/,+2d' "$expected" >expected.txt
  expected=expected.txt
  ;;
esac
started=$SECONDS
"$compiler" -std=c++20 -O0 -pthread "$@" -c stategraph.cpp
echo "stategraph.cpp was compiled alone in $((SECONDS - started)) s"
"$compiler" -std=c++20 -O0 -pthread -Wall -Wextra -Werror -I. "$@" "$here/program.cpp" "$here/second.cpp" stategraph.o \
  "${links[@]}" -o program
./program | diff "$expected" -
