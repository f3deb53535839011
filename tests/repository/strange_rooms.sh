#!/usr/bin/env bash
# Configures copies of the project in which a room was added, or something is wrong with the rooms.
#
#   strange_rooms.sh CMAKE FOLDER [ARGUMENT_OF_CMAKE]...
set -euo pipefail
cmake=$1 folder=$2
shift 2
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$folder"
mkdir -p "$folder/tree"
(cd "$repo" && git ls-files -z -- '*.txt' '*.cmake' '*.in' '*.cpp' '*.hpp' '*.supp' 'inspect/web/dist' 'LICENSE' |
  xargs -0 cp --parents -t "$folder/tree" 2>/dev/null) || true # files that were just removed
cd "$folder/tree"

failed=0
# try EXPECTED WHAT: configures; the output must have the text, or, if it is "works", there is no error.
try() {
  local out code=0
  rm -rf ../build
  out=$("$cmake" -S . -B ../build -DSTATEGRAPH_BUILD_EXAMPLES=OFF -DSTATEGRAPH_BUILD_BENCHMARKS=OFF "${arguments[@]}" 2>&1) || code=$?
  out=$(tr -s ' \n' ' ' <<<"$out")
  if [ "$1" = works ] && [ $code = 0 ]; then return; fi
  if [ "$1" != works ] && [ $code != 0 ] && [[ $out = *"$1"* ]]; then return; fi
  echo "$2: expected '$1', and CMake ended with $code:"
  echo "$out"
  failed=1
}
arguments=("$@")

# A new product: one source, one header, one test, and a CMakeLists.txt of one line.
mkdir -p shop include/stategraph/shop tests/shop
echo 'stategraph_room(shop USES workflow)' >shop/CMakeLists.txt
echo '#include <stategraph/workflow/workflow.hpp>' >shop/shop.cpp
echo '#pragma once' >include/stategraph/shop/shop.hpp
echo '#include <doctest/doctest.h>' >tests/shop/shop_test.cpp
try works "a new room"
grep -q '^shop|built' ../build/rooms.txt || { echo "the new room is not built"; failed=1; }
"${cmake%cmake}ctest" --test-dir ../build -N -L '^shop$' >../tests.txt
grep -q 'shop/shop$' ../tests.txt || { echo "the new room's test is no entry of CTest"; failed=1; }

mv tests/shop/shop_test.cpp tests/shop_test.cpp
try "There is no test of shop" "a room without tests"
mkdir tests/lost
mv tests/shop_test.cpp tests/shop/shop_test.cpp
echo '#include <doctest/doctest.h>' >tests/lost/lost_test.cpp
try "These tests are in no program" "a test that is nobody's"
rm -r tests/lost
mkdir shop/empty
echo 'stategraph_room(nothing USES core)' >shop/empty/CMakeLists.txt
mkdir -p tests/shop/empty include/stategraph/shop/empty
echo '#pragma once' >include/stategraph/shop/empty/nothing.hpp
echo '#include <doctest/doctest.h>' >tests/shop/empty/nothing_test.cpp
try "there is no source below shop/empty/" "a room without sources"
rm -r shop/empty tests/shop/empty include/stategraph/shop/empty
mkdir storage/lost
: >storage/lost/lost.cpp
try "These sources are in no room" "a source that is nobody's"
rm -r storage/lost
mkdir include/stategraph/lost
: >include/stategraph/lost/lost.hpp
try "These public headers are in no room" "a header that is nobody's"
rm -r include/stategraph/lost
echo 'stategraph_room(shop USES workflw)' >shop/CMakeLists.txt
try "workflw is neither a room nor" "a name that nobody has"
echo 'stategraph_room(shop USES workflow LINK Threads::Threads)' >shop/CMakeLists.txt
try "LINK;Threads::Threads is neither a room nor" "a word that is unknown"
echo 'stategraph_room(shop USES workflow)' >shop/CMakeLists.txt
sed -i 's/stategraph_room(workflow USES /&shop /' workflow/CMakeLists.txt
try "These rooms use each other" "a circle"
sed -i 's/stategraph_room(workflow USES shop /stategraph_room(workflow USES /' workflow/CMakeLists.txt
# What uses a room that is off is off; it is an error to ask for it all the same.
arguments+=(-DSTATEGRAPH_WITH_WORKFLOW=OFF)
try works "a room that is off"
grep -q '^shop|built' ../build/rooms.txt && { echo "a room is built without what it uses"; failed=1; }
arguments+=(-DSTATEGRAPH_WITH_SHOP=ON)
try "STATEGRAPH_WITH_SHOP needs STATEGRAPH_WITH_WORKFLOW, which is off" "a room that is on without what it uses"
exit $failed
