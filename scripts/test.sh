#!/usr/bin/env bash
# Installs what is missing (Debian), builds, and runs the tests.
#
#   ./scripts/test.sh           g++ (preset once), AddressSanitizer + UBSan (asan), ThreadSanitizer (tsan)
#   ./scripts/test.sh --quick   g++ only
#   ./scripts/test.sh --clang   and clang++-16 without sanitizers (preset clang)
#
# First of all it checks how the files are written (./scripts/check_style.sh), that what a mutex guards is used under it
# (./scripts/check_locks.sh), and with clang-tidy an eighth of the sources (./scripts/check_tidy.sh). While the tests of one
# preset run, the next one is built. Where clang++-16 has its sanitizers it compiles the asan build, in two thirds of the time of
# g++, and checks the locks in the same build; with SANITIZER_CXX=g++, g++ compiles it. g++ compiles ThreadSanitizer's build, because
# the suppressions are for its library. The last line is "N passed, N failed": tests of all presets; a build that fails counts as
# one. Exit code 0 if none failed.
#
#   ./scripts/test.sh --pages   and the pages, in Chromium, in the preset once: Chromium, Node and the npm packages are
#                               installed too, and these tests are left out, with a word, where apt or npm reach nothing
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"
# shellcheck source=scripts/lib/pages.sh
. "$repo/scripts/lib/pages.sh"

presets=(once asan tsan)
with_clang=no
with_pages=no
for argument in "$@"; do
  case $argument in
  --quick) presets=(once) ;;
  --clang) with_clang=yes ;;
  --pages) with_pages=yes ;;
  -h | --help)
    sed -n '2,16s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *) die "unknown option $argument; there are --quick, --clang and --pages." ;;
  esac
done
if [ $with_clang = yes ]; then presets+=(clang); fi

need_packages build tests postgres clang
if [ $with_pages = yes ]; then need_pages; fi
export CXX=$cxx
# compiler_of PRESET
sanitizing_cxx=$cxx
compiler_of() {
  case $1 in
  asan) echo "$sanitizing_cxx" ;;
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
# How many tests run at a time: many wait, for a disk or for a process that they started. While a build takes what they leave
# of the processor, one more than there are cores; otherwise twice as many.
at_a_time() {
  if [ -n "$builder" ] && kill -0 "$builder" 2>/dev/null; then
    echo $(($(nproc) + 1))
  else
    echo $(($(nproc) * 2))
  fi
}

# The sanitizers' shadow memory does not fit where newer kernels put things; without address randomisation it does.
runner_for() {
  if [[ $1 = [at]san ]] && [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ] &&
    setarch "$(uname -m)" -R true 2>/dev/null; then
    printf 'setarch %s -R' "$(uname -m)"
  fi
}

# configure_and_build PRESET
configure_and_build() {
  local started=$SECONDS
  say "$1: configuring (build/$1)"
  mkdir -p "$repo/build"
  local compiler cache=$repo/build/$1/CMakeCache.txt
  compiler=$(compiler_of "$1")
  # CMake stays with the compiler that it began with, and the locks are checked by clang alone.
  if [[ $compiler = clang* ]] && [ -f "$cache" ] && ! grep -q '^CMAKE_CXX_COMPILER:.*clang' "$cache"; then
    rm -r "${repo:?}/build/$1"
  fi
  CXX=$compiler cmake --preset "$1" >"$repo/build/$1.log" 2>&1 || {
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
  trap 'kill -- "-$builder" 2>/dev/null || true' EXIT
}

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

cd "$repo"
say "Checking how the files are written"
if "$repo/scripts/check_style.sh"; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  failures+=("style: ./scripts/check_style.sh")
fi
say "Checking the locks"
if "${locks[@]}"; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  failures+=("locks: ./scripts/check_locks.sh")
fi
# Another part after each commit, so that eight commits in a row are checked whole.
say "Checking a part of the sources with clang-tidy"
have clang-tidy-16 || (apt_install clang-tidy-16) || true
if "$repo/scripts/check_tidy.sh" --part "$(git rev-list --count HEAD 2>/dev/null || echo 0)" 8; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  failures+=("tidy: ./scripts/check_tidy.sh")
fi
for preset in "${presets[@]}"; do
  if ! await_build "$preset"; then
    failed=$((failed + 1))
    failures+=("$preset: the build")
    break
  fi
  say "$preset: testing"
  started=$SECONDS
  results=$repo/build/$preset/results.xml
  rm -f "$results"
  # shellcheck disable=SC2046
  $(runner_for "$preset") ctest --preset "$preset" -j "$(at_a_time)" --progress --output-junit "$results" || true
  if [ ! -s "$results" ]; then
    failed=$((failed + 1))
    failures+=("$preset: ctest")
    continue
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
  say "$preset: tested in $((SECONDS - started)) s"
done

say "All of it: $SECONDS s"
if [ $failed -gt 0 ]; then
  say "Failed:"
  for name in "${failures[@]}"; do note "$name"; done
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
