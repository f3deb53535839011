#!/usr/bin/env bash
# Says which packages of package.json have a newer version at npm, and of which date the pinned ones are: newer.sh. Needs npm and its registry.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
node -p 'const p = require("./package.json"); Object.entries({ ...p.dependencies, ...p.optionalDependencies }).map((e) => e.join(" ")).join("\n")' |
  while read -r package version; do
    newest=$(npm view "$package" version 2>/dev/null) || newest=
    [ -z "$newest" ] || [ "$newest" = "$version" ] || echo "npm has $package $newest; the benchmarks have $version"
  done
node -p 'require("./package.json").description'
