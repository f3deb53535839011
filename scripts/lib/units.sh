# shellcheck shell=bash
# Sourced by scripts/check_locks.sh and scripts/check_tidy.sh, after scripts/lib/packages.sh: the library's sources in units,
# which clang reads at once, since most of its work on a source is the headers.
#
#   make_units [FILE...]   writes `units`, a folder with a file NAME.unit for each unit, which lists sources; it is removed at
#                          the end. Without files: all of the library, ten at a time. Sets `includes`, the compiler's -I
#   units_need_headers     leaves out the sources whose foreign headers are not there, and says so

: "${repo:?}"

make_units() {
  units=$(mktemp -d)
  trap 'rm -rf "$units"' EXIT
  if [ $# -gt 0 ]; then
    printf '%s\n' "$@" | split -l 1 -a 4 --additional-suffix=.unit - "$units/one."
  else
    # of NAME DEPTH FOLDER...: the sources of a target, as in cmake/Rooms.cmake.
    of() {
      local name=$1 depth=$2
      shift 2
      find "$@" -maxdepth "$depth" -name '*.cpp' | LC_ALL=C sort | split -l 10 -a 2 --additional-suffix=.unit - "$units/$name."
    }
    # shellcheck disable=SC2046
    of core 9 $(find src -mindepth 1 -maxdepth 1 -type d ! -name async) storage/memory storage/saver storage/store
    local folder
    while read -r folder; do
      of "${folder//\//_}" 1 "$folder"
    done < <(echo src/async && cpp_folders library | xargs -I{} find {} -name '*.cpp' -printf '%h\n' | LC_ALL=C sort -u |
      grep -vE '^(src|storage/(memory|saver|store))(/|$)')
    # The kernel's header and glibc's of the same name cannot stand in one unit.
    local alone
    while read -r alone; do
      sed -i "\\|^$alone\$|d" "$units"/*.unit
      echo "$alone" >"$units/zz.${alone//\//_}.unit"
    done < <(cat "$units"/*.unit | xargs grep -l '^#include <linux/tcp\.h>')
  fi

  use_unpacked_boost
  includes=(-Iinclude -I.)
  local prefix prefixes
  IFS=: read -r -a prefixes <<<"${CMAKE_PREFIX_PATH:-}"
  for prefix in "${prefixes[@]}"; do
    if [ -d "$prefix/include" ]; then includes+=(-isystem "$prefix/include"); fi
  done
  if [ -d /usr/include/postgresql ]; then includes+=(-isystem /usr/include/postgresql); fi
}

units_need_headers() {
  cxx=clang++-16  # for has_header
  if ! has_header postgresql/libpq-fe.h; then
    note "libpq is not there: storage/postgres/ and the rooms that include its files are left out."
    { grep -lE '^(storage/postgres|worker/queue)/' "$units"/*.unit || true; } | xargs -r rm
  fi
  if ! has_header re2/re2.h; then
    note "RE2 is not there: json/schema/ and workflow/from_json/ are left out."
    { grep -lE '^(json/schema|workflow/from_json)/' "$units"/*.unit || true; } | xargs -r rm
  fi
}
