#!/usr/bin/env bash
# Checks that what a mutex guards is used under that mutex: clang's -Wthread-safety over the library's sources, which say
# with SG_GUARDED_BY and SG_REQUIRES what is guarded (include/stategraph/detail/mutex.hpp).
#
#   ./scripts/check_locks.sh           all sources, ten at a time (two to four minutes on two cores); exit code 1 if
#                                      something is wrong
#   ./scripts/check_locks.sh FILE...   these sources alone
#   ./scripts/check_locks.sh --before-asan   no sources: clang++ builds the preset asan next, which has -Wthread-safety
#                                      and stops at the same errors (cmake/Warnings.cmake)
#
# Without clang++-16 it says so and checks only that all mutexes of the library are annotated ones.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"
cd "$repo"
before_asan=no
if [ "${1:-}" = --before-asan ]; then
  before_asan=yes
  shift
fi
mapfile -t rooms < <(cpp_folders library)
jobs=$(nproc)

# The standard library's mutexes and guards are unknown to the analysis. Those of the annotated classes are `wrapped_`.
bare=$(grep -rnE 'std::(recursive_|shared_|timed_|recursive_timed_|shared_timed_)?mutex( +[a-z_]+\b|, [0-9]+>)|std::(lock_guard|scoped_lock)\b' \
  --include='*.hpp' --include='*.cpp' "${rooms[@]}" | grep -vE 'include/stategraph/detail/mutex\.hpp:|std::shared_mutex wrapped_;|^[^:]*:[0-9]+: *//' || true)
if [ -n "$bare" ]; then
  printf 'Use detail::Mutex, LockGuard and UniqueLock (stategraph/detail/mutex.hpp), which clang can check:\n%s\n' "$bare"
  exit 1
fi

if ! have clang++-16; then
  note "clang++-16 is not installed (Debian: clang-16): the script does not check that locks are held."
  exit 0
fi

# shellcheck source=scripts/lib/units.sh
. "$repo/scripts/lib/units.sh"
make_units "$@"
if [ $before_asan = yes ]; then rm "$units"/*.unit; else units_need_headers; fi

check() {
  local unit=$1
  shift
  sed 's/.*/#include "&"/' "$unit" |
    clang++-16 -x c++ -std=c++20 -fsyntax-only -Wno-everything -Werror=thread-safety "$@" -
}
export -f check
# It must be able to fail.
echo '#include <stategraph/detail/mutex.hpp>
      struct Seeded { stategraph::detail::Mutex mutex; int guarded SG_GUARDED_BY(mutex) = 0; };
      int use(Seeded& seeded) { return seeded.guarded; }' >"$units/seeded.cpp"
seeded=$(check <(echo "$units/seeded.cpp") "${includes[@]}" 2>&1 || true)
rm "$units/seeded.cpp"
case $seeded in
*thread-safety-analysis*) ;;
*) die "clang++-16 does not refuse a member that is read without its mutex: the check would check nothing." "$seeded" ;;
esac

if [ $before_asan = yes ]; then
  note "locks: the build of the preset asan checks the sources"
  exit 0
fi
started=$SECONDS
# Backwards by name, so that the longest, those of serve, begin.
if ! find "$units" -name '*.unit' | sort -r | xargs -P "$jobs" -I{} bash -c 'check "$@"' check {} "${includes[@]}"; then
  cat <<'TEXT'
A member that a mutex guards is used without it, or a function is called without the mutex that it requires, or clang
cannot compile a source (above).
Lock the mutex, or say with SG_REQUIRES that the callers hold it: CONTRIBUTING.md, "Locks".
TEXT
  exit 1
fi
note "locks: $(cat "$units"/*.unit | wc -l) sources, $((SECONDS - started)) s"
