#!/usr/bin/env bash
# Builds rooms (docs/architecture.md) and runs their tests, those of the rooms that use them directly, the recorded scenarios in
# memory, and the golden databases.
#
#   ./scripts/check.sh ROOM...   for example run, history, rocksdb; core: all its floors, without the rooms that use them
#   ./scripts/check.sh           the rooms whose files differ from origin/main or, where nothing does, from the commit before;
#                                core, if these files are no room's
#   ./scripts/check.sh --alone ROOM...   without the rooms that use them
#   ./scripts/check.sh --list    the rooms
#
# What it builds is in build/check: shared libraries without optimisation, with tests that run on savers in memory alone and, in
# rooms that are a saver, on that. The last line is "N passed, N failed". Before a commit is sent, ./scripts/test.sh decides.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"
# shellcheck source=scripts/lib/rooms.sh
. "$repo/scripts/lib/rooms.sh"
cd "$repo"

# clang takes two thirds of the time of g++. CMake stays with the compiler that it began with.
if [ -z "${CXX:-}" ] && have clang++-16; then export CXX=clang++-16; fi
with_users=yes
case ${1:-} in
-h | --help)
  sed -n '2,14s/^# \{0,1\}//p' "$0"
  exit 0
  ;;
--alone)
  with_users=no
  shift
  ;;
esac

build=build/check rooms=build/check/rooms.txt
started=$SECONDS
configure() {
  CXX=$cxx cmake --preset check >"$repo/build/check.log" 2>&1 || {
    cat "$repo/build/check.log"
    exit 1
  }
}
if [ ! -f "$build/build.ninja" ]; then
  need_packages check
  mkdir -p build
  configure
fi
[ -f "$rooms" ] || configure
if [ "${1:-}" = --list ]; then
  all_rooms "$rooms"
  exit 0
fi

changed() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null) || base=HEAD
  { git diff --name-only "$base"; git ls-files --others --exclude-standard; } | grep . ||
    git diff --name-only HEAD~1
}
wanted=("$@")
if [ ${#wanted[@]} -eq 0 ]; then
  mapfile -t wanted < <(changed | rooms_of "$rooms")
  if [ ${#wanted[@]} -eq 0 ]; then
    say "What differs from origin/main, or from the last commit, is no room's: the core is tested"
    wanted=(core)
  fi
fi
for room in "${wanted[@]}"; do
  all_rooms "$rooms" | grep -qx -- "$room" || die "no room is called $room. There are: $(all_rooms "$rooms" | xargs)"
  if [ "$room" = core ]; then
    mapfile -t -O ${#wanted[@]} wanted < <(rooms_with "$rooms" core)
    with_users=no # these are nearly all
  fi
done
users=()
if [ $with_users = yes ]; then mapfile -t users < <(users_of "$rooms" "${wanted[@]}"); fi
mapfile -t testers < <(testers_of "$rooms" "${wanted[@]}")
mapfile -t tested < <(printf '%s\n' "${wanted[@]}" "${users[@]}" "${testers[@]}" | sort -u | grep -xFf <(rooms_with "$rooms" built))
say "Rooms: ${tested[*]}"

ninja -C "$build" -t targets all 2>/dev/null | sed -n 's/^\(tests-[a-z_]*\): .*/\1/p' >"$build/targets.txt"
targets=(stategraph-conformance tests-golden)
for room in "${tested[@]}"; do
  if grep -qx "tests-$room" "$build/targets.txt"; then targets+=("tests-$room"); else targets+=("stategraph_$room"); fi
done
cmake --build "$build" --target "${targets[@]}" >"$build/build.log" 2>&1 || {
  grep -vE '^\[[0-9]+/[0-9]+\]' "$build/build.log"
  echo "0 passed, 1 failed"
  exit 1
}
say "Built in $((SECONDS - started)) s"
label=$(IFS='|' && echo "${tested[*]}")
ctest --test-dir "$build" -L "^($label|always|golden)\$" -j $(($(nproc) * 2)) --output-on-failure --no-tests=error >"$build/tests.log" 2>&1 || true
sed -n '/Output of:/,/^$/p; /Failed/p; /Errors while/,$p' "$build/tests.log" | grep -v '^ *$' || true
passed=$(grep -c ' Passed ' "$build/tests.log" || true)
failed=$(grep -cE '\*\*\*(Failed|Timeout|Exception|Not Run)' "$build/tests.log" || true)
say "All of it: $((SECONDS - started)) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
