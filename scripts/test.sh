#!/usr/bin/env bash
# Installs what is missing (Debian), builds, and runs the tests.
#
#   ./scripts/test.sh            without sanitizers what needs that (preset once), all rooms with AddressSanitizer + UBSan (asan), those
#                                that start threads with ThreadSanitizer (tsan)
#   ./scripts/test.sh --nightly  and everything that rotates, whole: all rooms with ThreadSanitizer, every scenario on every saver,
#                                all random data, the second consumer, the site, the pages, clang-tidy over all sources, the fuzzers, 20 failovers
#   ./scripts/test.sh --pages    and the pages, in Chromium: Chromium, Node and the npm packages are installed too, and these tests are
#                                left out, with a word, where apt or npm reach nothing
#   ./scripts/test.sh --clang    and all rooms with clang++-16 without sanitizers (preset clang)
#   ./scripts/test.sh --repeat N [--load]   runs the tests N times; with a load of four busy loops a core beside them
#
# First of all it checks how the files are written (./scripts/check_style.sh), that what a mutex guards is used under it
# (./scripts/check_locks.sh), and with clang-tidy a part of the sources (./scripts/check_tidy.sh). While the tests of one preset run,
# the next one is built. Where clang++-16 has its sanitizers it compiles both of their builds, in two thirds of the time of g++, and
# checks the locks in the first; with SANITIZER_CXX=g++, g++ compiles them. What rotates is chosen by the number of commits. The end
# shows once more what failed tests printed last. The last line is "N passed, N failed": tests of all presets; a build that fails
# counts as one. Exit code 0 if none failed.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"
# shellcheck source=scripts/lib/pages.sh
. "$repo/scripts/lib/pages.sh"
# shellcheck source=scripts/lib/rooms.sh
. "$repo/scripts/lib/rooms.sh"

presets=(once asan tsan)
with_clang=no with_pages=no nightly=OFF repeat=1 with_load=no
while [ $# -gt 0 ]; do
  case $1 in
  --clang) with_clang=yes ;;
  --pages) with_pages=yes ;;
  --nightly) nightly=ON with_pages=yes ;;
  --load) with_load=yes ;;
  --repeat)
    repeat=${2:-}
    [[ $repeat =~ ^[1-9][0-9]*$ ]] || die "--repeat takes a number of at least 1."
    shift
    ;;
  -h | --help)
    sed -n '2,23s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *) die "unknown option $1; there are --nightly, --pages, --clang, --repeat N and --load." ;;
  esac
  shift
done
if [ $with_clang = yes ]; then presets+=(clang); fi

cd "$repo"
need_packages build tests postgres clang
if [ $with_pages = yes ]; then need_pages; fi
if [ $nightly = ON ]; then need_packages site; fi
export CXX=$cxx
# Which part of what rotates.
STATEGRAPH_TEST_TURN=$(git rev-list --count HEAD 2>/dev/null || echo 0)
export STATEGRAPH_TEST_TURN
# compiler_of PRESET
sanitizing_cxx=$cxx
compiler_of() {
  case $1 in
  [at]san) echo "$sanitizing_cxx" ;;
  *) echo "$cxx" ;;
  esac
}
locks=("$repo/scripts/check_locks.sh")
if [[ ${SANITIZER_CXX:-clang++-16} = clang++-16 && " ${presets[*]} " = *" asan "* ]]; then
  if need_clang_sanitizers; then
    sanitizing_cxx=clang++-16
    locks+=(--before-asan)
  else
    note "clang++-16 has no sanitizers here (Debian: libclang-rt-16-dev): $cxx compiles them, which takes longer."
  fi
fi

passed=0
failed=0
failures=()
said=$repo/build/failures.txt # the last lines of tests that failed
mkdir -p "$repo/build"
: >"$said"
# check NAME COMMAND…: a check that counts as one test.
check() {
  local name=$1
  shift
  say "Checking $name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures+=("$name: $(realpath --relative-to "$repo" "$1")")
  fi
}
# How many tests run at a time: many wait, for a disk or for a process that they started. While a build takes what they leave
# of the processor, one more than there are cores; otherwise three times as many.
at_a_time() {
  if [ -n "$builder" ] && kill -0 "$builder" 2>/dev/null; then
    echo $(($(nproc) + 1))
  else
    echo $(($(nproc) * 3))
  fi
}

# The sanitizers' shadow memory does not fit where newer kernels put things; without address randomisation it does.
runner_for() {
  if [[ $1 = [at]san ]] && [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ] &&
    setarch "$(uname -m)" -R true 2>/dev/null; then
    printf 'setarch %s -R' "$(uname -m)"
  fi
}

# Which rooms ThreadSanitizer runs: those that start threads, and a third of the others, another third after each commit.
rooms_for_tsan() {
  local rooms=build/once/rooms.txt
  rooms_with $rooms starts_threads
  grep -vxFf <(rooms_with $rooms starts_threads) <(rooms_with $rooms built) | awk -v n=$((STATEGRAPH_TEST_TURN % 3)) 'NR % 3 == n'
}

# configure_and_build PRESET
configure_and_build() {
  local started=$SECONDS
  say "$1: configuring (build/$1)"
  mkdir -p "$repo/build"
  local compiler cache=$repo/build/$1/CMakeCache.txt options=(-DSTATEGRAPH_TEST_TURN="$STATEGRAPH_TEST_TURN" -DSTATEGRAPH_TEST_NIGHTLY=$nightly)
  if [ $nightly = ON ]; then
    options+=(-DSTATEGRAPH_WITH_SERVE=ON -DSTATEGRAPH_WITH_MODEL_HTTP=ON -DSTATEGRAPH_TEST_ROOMS=)
  elif [ "$1" = tsan ]; then
    options+=("-DSTATEGRAPH_TEST_ROOMS=$(rooms_for_tsan | paste -sd ';')")
  fi
  compiler=$(compiler_of "$1")
  # CMake stays with the compiler that it began with, and the locks are checked by clang alone.
  if [[ $compiler = clang* ]] && [ -f "$cache" ] && ! grep -q '^CMAKE_CXX_COMPILER:.*clang' "$cache"; then
    rm -r "${repo:?}/build/$1"
  fi
  CXX=$compiler cmake --preset "$1" "${options[@]}" >"$repo/build/$1.log" 2>&1 || {
    cat "$repo/build/$1.log"
    return 1
  }
  say "$1: building"
  cmake --build --preset "$1" || return 1
  if [ "$1" = once ]; then
    say "$1: compiling every public header on its own"
    cmake --build --preset once-headers || return 1
  fi
  say "$1: built in $((SECONDS - started)) s"
}

# The presets after the first are built while the tests of those before them run: many tests wait, and the build, which is
# nicer, takes only what they leave of the processor. Its output is in build/PRESET.build.log.
builder=
build_the_others() {
  local preset
  rm -f "$repo"/build/*.built
  set -m # a process group of its own, which can be ended
  (
    set +e
    renice -n 10 "$BASHPID" >/dev/null 2>&1
    for preset in "${presets[@]:1}"; do
      (set -e; configure_and_build "$preset") >"$repo/build/$preset.build.log" 2>&1
      echo $? >"$repo/build/$preset.built"
    done
  ) &
  builder=$!
  set +m
}
loads=()
trap 'kill -- ${builder:+"-$builder"} "${loads[@]}" 2>/dev/null || true' EXIT

# Succeeds when the preset is built, also by build_the_others.
await_build() {
  if [ "$1" = "${presets[0]}" ]; then
    configure_and_build "$1" || return
    if [ ${#presets[@]} -gt 1 ]; then build_the_others; fi
    return
  fi
  say "$1: waiting for its build (build/$1.build.log)"
  while [ ! -s "$repo/build/$1.built" ] && kill -0 "$builder" 2>/dev/null; do sleep 1; done
  if [ "$(cat "$repo/build/$1.built" 2>/dev/null)" = 0 ]; then
    tail -n 1 "$repo/build/$1.build.log"
    return
  fi
  cat "$repo/build/$1.build.log"
  return 1
}

# last_lines RESULTS: the last lines that each failed test printed, once more for the end, where people look first.
last_lines() {
  awk '
    /<testcase / { name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name); fails = !/ status="run"/; n = 0 }
    { lines[n++] = $0 }
    /<\/testcase>/ && fails { print "--- " name; for (i = n > 40 ? n - 40 : 0; i < n; ++i) print lines[i] }
  ' "$1" | sed 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&amp;/\&/g'
}

# run_tests PRESET: runs and counts them.
run_tests() {
  local preset=$1 started=$SECONDS results=$repo/build/$1/results.xml status name
  say "$preset: testing"
  rm -f "$results"
  # shellcheck disable=SC2046
  $(runner_for "$preset") ctest --preset "$preset" -j "$(at_a_time)" --progress --output-junit "$results" || true
  if [ ! -s "$results" ]; then
    failed=$((failed + 1))
    failures+=("$preset: ctest")
    return
  fi
  # One <testcase name="…" … status="run|fail|notrun|disabled"> a test.
  while IFS=$'\t' read -r status name; do
    if [ "$status" = run ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      failures+=("$preset: $name ($status)")
    fi
  done < <(sed -n 's/.*<testcase name="\([^"]*\)".* status="\([^"]*\)".*/\2\t\1/p' "$results")
  last_lines "$results" >>"$said"
  say "$preset: tested in $((SECONDS - started)) s"
}

check "how the files are written" "$repo/scripts/check_style.sh"
check "the locks" "${locks[@]}"
have clang-tidy-16 || (apt_install clang-tidy-16) || true
if [ $nightly = ON ]; then
  check "the sources with clang-tidy" "$repo/scripts/check_tidy.sh"
  check "the fuzzers, a minute each" "$repo/scripts/fuzz.sh" 60
  check "compilers and machines" "$repo/scripts/compilers.sh" --install
else
  # Another part after each commit, so that sixteen commits in a row are checked whole.
  check "a part of the sources with clang-tidy" "$repo/scripts/check_tidy.sh" --part "$STATEGRAPH_TEST_TURN" 16
fi
built=()
for preset in "${presets[@]}"; do
  if ! await_build "$preset"; then
    failed=$((failed + 1))
    failures+=("$preset: the build")
    break
  fi
  built+=("$preset")
  run_tests "$preset"
done
# After the tests: it wants the machine for itself.
if [ $nightly = ON ]; then check "20 failovers of a PostgreSQL cluster" "$repo/scripts/failover.sh" 20; fi
if [ "$repeat" -gt 1 ]; then
  if [ $with_load = yes ]; then
    for ((i = 0; i < 4 * $(nproc); i++)); do
      (while :; do :; done) &
      loads+=($!)
    done
  fi
  for ((round = 2; round <= repeat; round++)); do
    say "Round $round of $repeat; $failed failed so far"
    for preset in "${built[@]}"; do run_tests "$preset"; done
  done
fi

say "All of it: $SECONDS s"
if [ $failed -gt 0 ]; then
  cat "$said"
  say "Failed:"
  for name in "${failures[@]}"; do note "$name"; done
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
