#!/usr/bin/env bash
# Makes Debian packages of the library and of the command: ./scripts/package_deb.sh [--test] [FOLDER]
#
# FOLDER (build/deb) gets libstategraph-dev_*.deb and stategraph_*.deb. With --test they are unpacked there, and
# tests/consumer is built and run against them. Installs what is missing to build them.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
source "$repo/scripts/lib/packages.sh"

tests=no
out=$repo/build/deb
for argument in "$@"; do
  case $argument in
  --test) tests=yes ;;
  -h | --help)
    sed -n '2,5s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  -*) die "unknown option $argument; there is --test." ;;
  *) out=$(realpath -m "$argument") ;;
  esac
done

need_packages build postgres
have dh || apt_install debhelper
have dpkg-buildpackage || apt_install dpkg-dev
# The tests' consumer has stategraph's version too.
version=$(sed -n 's/^#define STATEGRAPH_VERSION_[A-Z]* //p' "$repo/include/stategraph/version.hpp" | paste -sd .)

tree=$out/stategraph-$version
rm -rf "$tree"
mkdir -p "$tree"
(cd "$repo" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$tree")
cp -r "$repo/packaging/debian" "$tree/debian"
printf 'stategraph (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- The stategraph developers <stategraph@localhost>  %s\n' \
  "$version" "$(LC_ALL=C date -R -d "@$(git -C "$repo" log -1 --format=%ct)")" >"$tree/debian/changelog"
{
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nCopyright: the stategraph developers\nLicense: see below\n'
  sed 's/^$/./; s/^/ /' "$repo/LICENSE"
} >"$tree/debian/copyright"

say "Building the packages (build/deb)"
# Boost may be one that these scripts unpacked, which dpkg does not know: hence -d.
(cd "$tree" && STATEGRAPH_CMAKE="${CMAKE_PREFIX_PATH:+-DCMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH//:/;}}" \
  DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" dpkg-buildpackage -b -us -uc -d >"$out/build.log" 2>&1) || {
  tail -n 40 "$out/build.log"
  die "dpkg-buildpackage failed; the whole log is $out/build.log."
}
rm -rf "$tree"
say "Made:"
for package in "$out"/*_"$version"_*.deb; do note "$package"; done

if [ $tests = yes ]; then
  say "Building tests/consumer against them"
  rm -rf "$out/root"
  for package in "$out"/*_"$version"_*.deb; do dpkg-deb -x "$package" "$out/root"; done
  cmake -DHOW=packages "-DSOURCE=$repo" "-DPREFIX=$out/root/usr" "-DFOLDER=$out/consumer" "-DCXX=$cxx" -DGENERATOR=Ninja \
    -DCONFIG=Release "-DCACHE=$repo/packaging/no_cache.cmake" -P "$repo/cmake/BuildConsumer.cmake"
  "$out/root/usr/bin/stategraph" --help >/dev/null
  say "The packages work"
fi
