#!/usr/bin/env bash
# Makes the site from the documents: ./scripts/site.sh [--offline] [FOLDER]
#
# FOLDER (build/site/html) gets the pages, searchable, light and dark, with the reference of the public headers in
# FOLDER/reference. Open FOLDER/index.html, or serve the folder. What is missing is installed: MkDocs with the theme
# Material, Doxygen (Debian), and mermaid (npm), which draws the graphs. With --offline nothing is downloaded; without
# mermaid a page shows the text of a graph.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
source "$repo/scripts/lib/packages.sh"

offline=no
out=$repo/build/site/html
for argument in "$@"; do
  case $argument in
  --offline) offline=yes ;;
  -h | --help)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  -*) die "unknown option $argument; there is --offline." ;;
  *) out=$(realpath -m "$argument") ;;
  esac
done

missing=()
have mkdocs || missing+=(mkdocs)
has_site_theme || missing+=(mkdocs-material)
have doxygen || missing+=(doxygen)
if [ ${#missing[@]} -gt 0 ]; then
  [ $offline = no ] || die "these are missing: ${missing[*]}" "Run this once without --offline."
  apt_install "${missing[@]}"
fi

work=$repo/build/site
source=$work/source
mkdir -p "$work/npm"
drawings=$work/npm/node_modules/mermaid/dist/mermaid.min.js
if [ ! -f "$drawings" ] && [ $offline = no ]; then
  cp "$repo/scripts/site/package.json" "$work/npm/"
  (cd "$work/npm" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null) ||
    note "mermaid could not be fetched: the pages show the text of their graphs."
fi

say "Writing the pages"
python3 "$repo/scripts/site/stage.py" "$repo" "$source"
if [ -f "$drawings" ]; then cp "$drawings" "$source/docs/"; else : >"$source/docs/mermaid.min.js"; fi
(cd "$source" && mkdocs build --strict --quiet --site-dir "$out")

say "Writing the reference"
"$repo/scripts/site/reference.sh" "$out/reference"

say "Checking the links"
python3 "$repo/scripts/site/check.py" "$out"
say "The site is in $out"
