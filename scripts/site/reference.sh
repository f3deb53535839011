#!/usr/bin/env bash
# Makes the reference of the public headers with Doxygen: reference.sh FOLDER. A warning of Doxygen's is an error.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$(realpath -m "$1")
rm -rf "$out"
mkdir -p "$out"
cd "$repo"
{
  cat scripts/site/Doxyfile
  echo "PROJECT_NUMBER = $(sed -n 's/^#define STATEGRAPH_VERSION_[A-Z]* //p' include/stategraph/version.hpp | paste -sd .)"
  echo "OUTPUT_DIRECTORY = \"$out\""
} | doxygen -
