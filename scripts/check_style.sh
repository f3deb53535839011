#!/usr/bin/env bash
# Checks how the C++ files are written: no line is longer than 120 columns (nor one of CMake's files), clang-format 16 would
# change nothing, no file has more than 400 lines and no function more than 70 without a reason.
#
#   ./scripts/check_style.sh         reports what differs; exit code 1 if something does
#   ./scripts/check_style.sh --fix   lets clang-format change it
#
# A reason is a comment with the words "longer than other": in the first 25 lines of a file, directly above a function. What counts
# as a function is in scripts/lib/lengths.awk. A function's lines are those from the one that opens its body to its brace.
#
# Left out: tests/compile_fail (what the compiler says there depends on the lines) and benchmarks/lines (programs that are
# counted by lines).
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"
have clang-format-16 || apt_install clang-format-16
cd "$repo"

files() {
  cpp_folders | xargs -I{} find {} \
    \( -path tests/compile_fail -o -path benchmarks/lines -o -name build -o -name node_modules \) -prune -o \
    \( -name '*.cpp' -o -name '*.hpp' \) -print | LC_ALL=C sort
}

if [ "${1:-}" = --fix ]; then
  files | xargs -P "$(nproc)" -n 50 clang-format-16 -i
fi
faults=0
# Raw strings, and drawings and tables in comments (two spaces or more after the slashes), may be wider.
long=$(files | LC_ALL=C.UTF-8 xargs grep -nE '^.{121,}$' | grep -vE 'R"\(|^[^:]*:[0-9]+: *(//[/<]* {2,}|["{])' | cut -c1-160 || true)
# CMake's own files: a string may be longer, on a line of its own.
long+=$(git ls-files '*.cmake' '*.cmake.in' '*CMakeLists.txt' | LC_ALL=C.UTF-8 xargs grep -nE '^.{121,}$' | grep -vE '^[^:]*:[0-9]+: *"' | cut -c1-160 || true)
if [ -n "$long" ]; then
  printf 'More than 120 columns:\n%s\n' "$long"
  faults=1
fi
# tests/golden/*_v1* made the golden database of format 1 and stay as they were then, so no reason can be written into them.
lengths=$(files | grep -v '^tests/golden/[^/]*_v1[^/]*$' | xargs awk -f scripts/lib/lengths.awk)
if [ -n "$lengths" ]; then
  printf 'More than 400 lines in a file or 70 in a function, and no comment with "longer than other" says why:\n%s\n' "$lengths"
  faults=1
fi
if ! files | xargs -P "$(nproc)" -n 50 clang-format-16 --dry-run -Werror; then
  note "./scripts/check_style.sh --fix changes these."
  faults=1
fi
exit $faults
