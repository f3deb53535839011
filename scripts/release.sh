#!/usr/bin/env bash
# Makes the archives of a release, checks them from nothing, and prints their sums: ./scripts/release.sh [--quick] [FOLDER]
#
# FOLDER (build/release) gets, for the commit that is checked out:
#   stategraph-VERSION.tar.gz               the sources
#   stategraph-VERSION-amalgamation.tar.gz  one header and one source (scripts/amalgamate.py)
#   stategraph-VERSION-docs.tar.gz          the site with the reference (scripts/site.sh)
#   *.deb                                   Debian's packages (scripts/package_deb.sh)
#   SHA256SUMS                              of all of them
# The checks take only what is in the archives: the amalgamation is made again from the sources, compiled alone and used; the sources,
# without git, are configured, built and tested as far as the core goes, installed, and used by tests/consumer with CMake and with
# pkg-config; so are the packages. The same commit makes the same archives, but for the site and the packages, which have dates.
#
#   --quick    without what takes minutes: of the checks the amalgamation and the configuration, and neither site nor packages
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"

quick=no
out=$repo/build/release
for argument in "$@"; do
  case $argument in
  --quick) quick=yes ;;
  -h | --help)
    sed -n '2,14s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  -*) die "unknown option $argument; there is --quick." ;;
  *) out=$(realpath -m "$argument") ;;
  esac
done

cd "$repo"
version=$(sed -n 's/^#define STATEGRAPH_VERSION_[A-Z]* //p' include/stategraph/version.hpp | paste -sd .)
name=stategraph-$version
[ -z "$(git status --porcelain)" ] || die "there are changes that are not committed, which no archive would have." "git status shows them."
grep -q "^## $version\b" CHANGELOG.md || die "CHANGELOG.md has no heading \"## $version\"."
if [ "$quick" = yes ]; then need_packages build; else need_packages build tests postgres site; fi
have python3 || apt_install python3
when=$(git log -1 --format=%ct)
# What is in the folder is deleted, so it must be new, empty, or what an earlier release has left.
case $repo/ in
"${out%/}"/*) die "$out is or has the repository, and what is in the folder is deleted first." "Name another one." ;;
esac
if [ -e "$out" ] && [ ! -d "$out" ]; then die "$out is not a folder." "Name another one."; fi
if [ -n "$(ls -A "$out" 2>/dev/null)" ]; then
  if [ ! -e "$out/SHA256SUMS" ] && [ ! -d "$out/check" ] || ! compgen -G "$out/stategraph-*.tar.gz" >/dev/null; then
    die "$out has files, and no release was made there." "They would be deleted: name another one, or empty it."
  fi
fi
rm -rf "$out"
mkdir -p "$out"

# packed FOLDER NAME: an archive that depends on the files alone.
packed() { tar -C "$1" --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner -cf - "$2" | gzip -n -9 >"$out/$2.tar.gz"; }

say "The sources"
git archive --format=tar --prefix="$name/" HEAD | gzip -n -9 >"$out/$name.tar.gz"
check=$out/check
mkdir -p "$check"
tar -C "$check" -xzf "$out/$name.tar.gz"
source=$check/$name

say "The amalgamation"
"$source/scripts/amalgamate.py" "$check/$name-amalgamation"
cp "$source/LICENSE" "$check/$name-amalgamation/"
packed "$check" "$name-amalgamation"

if [ $quick = no ]; then
  say "The site"
  ./scripts/site.sh "$check/$name-docs"
  packed "$check" "$name-docs"
  say "Debian's packages"
  ./scripts/package_deb.sh --test "$check/deb"
  cp "$check"/deb/*.deb "$out/"
fi

say "Checking the amalgamation: compiled alone, used"
"$source/tests/amalgamation/run.sh" python3 "$cxx" "$check/amalgamation"
cmp "$check/amalgamation/stategraph.cpp" "$check/$name-amalgamation/stategraph.cpp"

say "Checking the sources"
options=(-G Ninja "-DCMAKE_CXX_COMPILER=$cxx" -DSTATEGRAPH_TOGETHER=10 -DSTATEGRAPH_BUILD_EXAMPLES=OFF -DSTATEGRAPH_BUILD_BENCHMARKS=OFF
  -DSTATEGRAPH_TEST_PAGES=OFF -DSTATEGRAPH_TEST_COMPILER=OFF)
if [ $quick = yes ]; then
  cmake -S "$source" -B "$check/build" "${options[@]}" -DSTATEGRAPH_BUILD_TESTS=OFF >"$check/configure.log" ||
    die "the sources cannot be configured; $check/configure.log says why."
else
  # The floors of the core, as the sources name them.
  rooms=$(sed -n 's/^ *\([a-z]*\) PART_OF core.*/\1/p; s/^stategraph_room(\([a-z]*\) PART_OF core.*/\1/p' "$source"/*/*/CMakeLists.txt | sort | paste -sd ';')
  cmake -S "$source" -B "$check/build" "${options[@]}" -DCMAKE_BUILD_TYPE=Release "-DSTATEGRAPH_TEST_ROOMS=$rooms;json;async" \
    >"$check/configure.log" || die "the sources cannot be configured; $check/configure.log says why."
  cmake --build "$check/build"
  ctest --test-dir "$check/build" -j "$(nproc)" --output-on-failure
  cmake -DHOW=install "-DSOURCE=$source" "-DBUILD=$check/build" "-DFOLDER=$check/consumer" "-DCACHE=$source/packaging/no_cache.cmake" \
    "-DCXX=$cxx" -DGENERATOR=Ninja -DCONFIG=Release -P "$source/cmake/BuildConsumer.cmake"
fi

rm -rf "$check"
cd "$out"
find . -maxdepth 1 \( -name '*.tar.gz' -o -name '*.deb' \) -printf '%P\n' | LC_ALL=C sort | xargs sha256sum -- >SHA256SUMS
say "The archives of $version ($(git -C "$repo" rev-parse --short HEAD)) are in $out; their sums:"
cat SHA256SUMS
