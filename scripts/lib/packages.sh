# shellcheck shell=bash
# Sourced by the scripts: finds what stategraph needs to build and installs what is missing with apt-get.
#
#   need_packages build   compiler, CMake, Ninja, Boost, xxHash, RocksDB, SQLite, OpenSSL, libcurl, RE2
#   need_packages check   and doctest, libpq (scripts/check.sh)
#   need_packages tests   and doctest, Google Benchmark, LMDB, pkg-config, nginx, Caddy, curl
#   need_packages site    and what makes the site (Doxygen, MkDocs)
#   need_packages benchmarks  and Google Benchmark, gnuplot, oneTBB
#   need_packages postgres  and libpq, a PostgreSQL server for tests
#   need_packages failover  a cluster of PostgreSQL servers that fails over (scripts/failover.sh)
#   need_packages clang   and clang++-16 (scripts/check_locks.sh, the presets clang, asan and tsan of scripts/test.sh)
#
# The script that sources this sets repo, the repository's folder.
#
# A tool or library that is there already, from wherever, is used. Nothing is downloaded when nothing is missing.

: "${repo:?}"
boost_wanted=1.81

say() { printf '==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$1" >&2
  shift
  if [ $# -gt 0 ]; then printf '       %s\n' "$@" >&2; fi
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# cpp_folders [LIBRARY]: the top folders of the repository, where it is called, that have C++; with an argument, those of
# the library alone.
cpp_folders() {
  local folder
  for folder in */; do
    case ${folder%/} in
    build | node_modules) continue ;;
    benchmarks | examples | tests) [ $# -eq 0 ] || continue ;;
    esac
    if find "$folder" \( -name '*.cpp' -o -name '*.hpp' \) -print -quit | grep -q .; then echo "${folder%/}"; fi
  done
}

# version_at_least HAVE WANTED
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# --------------------------------------------------------------------------------------------------------- apt-get
apt_updated=no

# As root: directly or through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif have sudo; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    die "installing packages needs root, and there is no sudo here." "Run this as root, then run the script again:" "  $*"
  fi
}

require_apt() {
  have apt-get || die "this is missing, and there is no apt-get here to install it: $*" \
    "The names are Debian's. Install the same with this system's package manager, then run the script again."
}

apt_update() {
  if [ "$apt_updated" = no ]; then
    say "Fetching the package lists (apt-get update)"
    as_root apt-get update -qq || die "apt-get update failed; its output above says why (is there a network?)."
    apt_updated=yes
  fi
}

apt_install() {
  require_apt "$*"
  apt_update
  say "Installing with apt-get: $*"
  as_root apt-get install -y -qq --no-install-recommends "$@" ||
    die "apt-get could not install: $*" "Its output above says why. On releases other than Debian 12 names may differ."
}

# Like apt_install; services that the packages have are not started.
apt_install_unstarted() {
  local policy=/usr/sbin/policy-rc.d
  if [ -e $policy ]; then
    apt_install "$@"
    return
  fi
  # The policy must not stay, also if somebody ends the script meanwhile.
  (
    trap 'as_root rm -f '$policy EXIT
    trap 'exit 130' INT TERM HUP
    as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy" && apt_install "$@"
  ) || exit
}

# ------------------------------------------------------------------------------------------------------- the probes
# has_header NAME: the compiler finds it, also in the folders of CPATH and CMAKE_PREFIX_PATH.
has_header() {
  local folder flags=()
  local IFS=:
  for folder in ${CMAKE_PREFIX_PATH:-}; do flags+=("-I$folder/include"); done
  printf '#include <%s>\n' "$1" | "$cxx" -std=c++20 -x c++ "${flags[@]}" -M - >/dev/null 2>&1
}

# has_site_theme: the Python that MkDocs runs in has the theme of the site and what it needs.
has_site_theme() {
  local python
  python=$(sed -n '1s/^#! *//p' "$(command -v mkdocs 2>/dev/null || echo /dev/null)")
  [ -n "$python" ] && $python -c 'import pymdownx; from mkdocs.utils import get_theme_names as n; assert "material" in n()' 2>/dev/null
}

# need_clang_sanitizers: clang++-16 links programs with AddressSanitizer and ThreadSanitizer; their runtimes and what they
# find the names of functions with are packages of their own, which are installed if they are missing and can be.
clang_sanitizes() {
  local which
  for which in address,undefined thread; do
    echo 'int main() {}' | clang++-16 -fsanitize=$which -x c++ - -o /dev/null >/dev/null 2>&1 || return 1
  done
}
need_clang_sanitizers() {
  have llvm-symbolizer-16 || (apt_install llvm-16) || return # suppressions name functions
  clang_sanitizes && return
  (apt_install libclang-rt-16-dev) && clang_sanitizes
}

# Prints the version of the Boost (with Boost.JSON) that CMake would use, and where it is; fails if there is none. The
# question goes to CMake itself, so that CMAKE_PREFIX_PATH, Boost_ROOT and /usr/local count as they will in the build.
cmake_boost() {
  local folder found
  folder=$(mktemp -d)
  cat >"$folder/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.24)
project(probe NONE)
find_package(Boost ${WANTED} CONFIG QUIET COMPONENTS json)
if(Boost_FOUND AND TARGET Boost::json)
  message(STATUS "found:${Boost_VERSION} (${Boost_DIR})")
endif()
CMAKE
  found=$(cmake -S "$folder" -B "$folder/build" -G Ninja -DWANTED="$1" \
    -DCMAKE_LIBRARY_ARCHITECTURE="$("$cxx" -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")" 2>/dev/null | sed -n 's/^-- found://p')
  rm -rf "$folder"
  [ -n "$found" ] && printf '%s\n' "$found"
}

# ------------------------------------------------------------------------------------------------------------ Boost
# Debian's -dev packages of two Boost versions exclude each other. Where an older one is installed, something may need it:
# it stays, and the newer one is unpacked beside it, in build/boost, without installing it.
unpack_boost() {
  local package=$1 prefix=$repo/build/boost packages
  say "Unpacking $package and what it needs into build/boost"
  mkdir -p "$prefix/packages"
  packages=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances "$package" | grep -E '^libboost[a-z0-9.-]+$' | sort -u)
  # shellcheck disable=SC2086
  (cd "$prefix/packages" && apt-get download -qq -o APT::Sandbox::User=root $packages) || die "apt-get download failed for: $packages"
  for packages in "$prefix"/packages/*.deb; do dpkg-deb -x "$packages" "$prefix"; done
  rm -rf "$prefix/packages"
}

use_unpacked_boost() {
  if [ -d "$repo/build/boost/usr" ]; then
    export CMAKE_PREFIX_PATH="$repo/build/boost/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
  fi
}

need_boost() {
  local found old package plan
  use_unpacked_boost
  if found=$(cmake_boost $boost_wanted); then
    note "Boost $found"
    return
  fi

  old=$(printf '#include <boost/version.hpp>\nBOOST_LIB_VERSION\n' | "$cxx" -x c++ -E -P - 2>/dev/null |
    tail -n 1 | tr -d '"' | tr _ .) || old=
  if [ -z "$old" ]; then
    say "Boost is not installed; $boost_wanted or newer with Boost.JSON is needed"
  elif version_at_least "$old" $boost_wanted; then
    say "Boost $old is installed, but without Boost.JSON's library or its CMake package"
  else
    say "The only Boost here is $old; $boost_wanted or newer is needed"
  fi

  require_apt "libboost-json$boost_wanted-dev"
  apt_update
  # Debian 12 has 1.81 beside its default 1.74; later releases have another that will do.
  package=$(apt-cache search --names-only '^libboost-json1\.[0-9]+-dev$' | awk '{print $1}' | sort -V |
    while read -r name; do
      found=${name#libboost-json}
      if version_at_least "${found%-dev}" $boost_wanted; then
        echo "$name"
        break
      fi
    done)
  [ -n "$package" ] || die "apt has no package libboost-json1.NN-dev of Boost $boost_wanted or newer." \
    "Install Boost $boost_wanted or newer by hand and set CMAKE_PREFIX_PATH to its prefix."

  # What would happen? Removing what is installed, or a conflict that apt cannot solve, is not for a script to decide.
  if ! plan=$(LC_ALL=C apt-get -s install --no-install-recommends "$package" 2>&1) || grep -q '^Remv ' <<<"$plan"; then
    note "Debian lets only one Boost's development files be installed, and $package would remove the installed ones."
    note "Those stay as they are."
    unpack_boost "$package"
    use_unpacked_boost
  else
    apt_install "$package"
  fi
  found=$(cmake_boost $boost_wanted) || die "Boost $boost_wanted was installed and CMake does not find it." \
    "Is Boost_DIR or Boost_ROOT set to an older one?"
  note "Boost $found"
}

# ---------------------------------------------------------------------------------------------------------- the lot
# need_packages GROUP...
need_packages() {
  local missing=() servers=() group
  say "Looking for what is needed: $*"

  cxx=${CXX:-g++}
  if ! have "$cxx"; then
    if [ -n "${CXX:-}" ]; then die "CXX is set to $CXX, and there is no such compiler."; fi
    missing+=(g++)
  fi
  if ! have cmake; then
    missing+=(cmake)
  elif ! version_at_least "$(cmake --version | sed -n '1s/.* //p')" 3.25; then
    die "this is $(cmake --version | head -n 1), and 3.25 or newer is needed (Debian 12 has it)." \
      "Newer ones: https://cmake.org/download"
  fi
  have ninja || missing+=(ninja-build)

  # Without a compiler no header can be looked for; apt-get then finds out itself what is installed.
  has_header xxhash.h || missing+=(libxxhash-dev)
  has_header rocksdb/db.h || missing+=(librocksdb-dev)
  has_header sqlite3.h || missing+=(libsqlite3-dev)
  has_header openssl/evp.h || missing+=(libssl-dev)
  has_header curl/curl.h || missing+=(libcurl4-openssl-dev)
  has_header re2/re2.h || missing+=(libre2-dev)
  for group in "$@"; do
    case $group in
    build) ;;
    check) # what scripts/check.sh builds: a room whose package is not here is left out
      has_header doctest/doctest.h || missing+=(doctest-dev)
      has_header postgresql/libpq-fe.h || missing+=(libpq-dev)
      ;;
    tests)
      has_header doctest/doctest.h || missing+=(doctest-dev)
      has_header benchmark/benchmark.h || missing+=(libbenchmark-dev)
      has_header lmdb.h || missing+=(liblmdb-dev) # examples/lmdb_saver
      have pkg-config || missing+=(pkg-config)
      # Proxies in front of a server (tests/serve/proxies_test.cpp), and what asks them.
      have nginx || [ -x /usr/sbin/nginx ] || missing+=(nginx-light)
      have caddy || missing+=(caddy)
      have curl || missing+=(curl)
      have openssl || missing+=(openssl)
      ;;
    site)
      have doxygen || missing+=(doxygen)
      have mkdocs || missing+=(mkdocs)
      has_site_theme || missing+=(mkdocs-material)
      ;;
    benchmarks)
      has_header benchmark/benchmark.h || missing+=(libbenchmark-dev)
      has_header oneapi/tbb/flow_graph.h || missing+=(libtbb-dev) # a peer
      have gnuplot || missing+=(gnuplot-nox)
      ;;
    postgres)
      # To build stategraph::postgres, and a server for its tests. Nothing else needs either.
      has_header postgresql/libpq-fe.h || missing+=(libpq-dev)
      have postgres || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
      have pgbouncer || [ -x /usr/sbin/pgbouncer ] || missing+=(pgbouncer)
      have openssl || missing+=(openssl)
      ;;
    failover)
      have patroni || servers+=(patroni)
      have etcd || servers+=(etcd-server)
      compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null || missing+=(faketime)
      /usr/bin/python3 -c 'import psycopg2' 2>/dev/null || missing+=(python3-psycopg2)
      /usr/bin/python3 -c 'import etcd' 2>/dev/null || missing+=(python3-etcd)
      ;;
    clang) have clang++-16 || missing+=(clang-16) ;;
    *) die "need_packages: unknown group $group" ;;
    esac
  done
  if [ ${#missing[@]} -gt 0 ]; then
    note "missing: ${missing[*]}"
    apt_install "${missing[@]}"
  fi
  if [ ${#servers[@]} -gt 0 ]; then apt_install_unstarted "${servers[@]}"; fi

  version_at_least "$("$cxx" -dumpfullversion -dumpversion 2>/dev/null || echo 0)" 12 ||
    note "$cxx is older than g++ 12, the oldest that stategraph is tested with; continuing."
  note "$("$cxx" --version | head -n 1); $(cmake --version | head -n 1)"
  need_boost
  have ccache || note "ccache is not installed: not needed, but later builds would be faster with it"
  say "Everything is installed"
}
