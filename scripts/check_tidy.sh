#!/usr/bin/env bash
# Checks the library's sources, and the headers that they include, with clang-tidy 16. The list of checks is in .clang-tidy, and
# what it names passes; clang's static analyzer is not in it.
#
#   ./scripts/check_tidy.sh            all sources, ten at a time; exit code 1 if something is found
#   ./scripts/check_tidy.sh FILE...    these sources alone
#   ./scripts/check_tidy.sh --part N OF   one of OF parts of all sources: N counts from 0, and may be larger than OF
#
# Without clang-tidy-16 (Debian: clang-tidy-16) it says so and checks nothing.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"
# shellcheck source=scripts/lib/units.sh
. "$repo/scripts/lib/units.sh"
cd "$repo"
part=0 parts=1
if [ "${1:-}" = --part ]; then
  [ $# -eq 3 ] || die "--part takes two numbers: which part, and of how many."
  part=$2 parts=$3
  shift 3
fi
if ! have clang-tidy-16; then
  note "clang-tidy-16 is not installed (Debian: clang-tidy-16): what it would find is not looked for."
  exit 0
fi

make_units "$@"
units_need_headers
if [ "$parts" -gt 1 ]; then
  find "$units" -name '*.unit' | LC_ALL=C sort | awk -v n="$((part % parts))" -v of="$parts" '(NR - 1) % of != n' | xargs -r rm
fi

check() {
  local unit=$1 out
  shift
  sed 's/.*/#include "&"/' "$unit" >"$unit.cpp"
  # What it says of suppressed warnings, and of the file that is made here, says nothing.
  out=$(clang-tidy-16 --quiet "$unit.cpp" -- -std=c++20 -Wno-everything "$@" 2>&1) && return
  grep -vE '^[0-9]+ warnings? (generated|treated as)|^Suppressed |^Use -header-filter' <<<"$out"
  return 1
}
export -f check
# It must be able to fail.
mkdir "$units/src"
echo '#include <string>
      #include <utility>
      inline std::size_t twice(std::string text) { const std::string moved = std::move(text); return moved.size() + text.size(); }' \
  >"$units/src/seeded.hpp"
cp .clang-tidy "$units"
echo "$units/src/seeded.hpp" >"$units/seeded"
seeded=$(check "$units/seeded" || true)
rm -r "$units/src" "$units"/seeded*
case $seeded in
*bugprone-use-after-move*) ;;
*) die "clang-tidy-16 does not refuse a string that is used after it was moved: the check would check nothing." "$seeded" ;;
esac

started=$SECONDS
if ! find "$units" -name '*.unit' | sort -r | xargs -P "$(nproc)" -I{} bash -c 'check "$@"' check {} "${includes[@]}"; then
  cat <<'TEXT'
clang-tidy found something (above). Change the code, or, where the check is wrong, say so: // NOLINT(its-name): why.
TEXT
  exit 1
fi
note "tidy: $(cat "$units"/*.unit | wc -l) sources, $((SECONDS - started)) s"
