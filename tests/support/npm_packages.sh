# shellcheck shell=bash
# Sourced by scripts that run tests with npm packages. `here` is the script's folder, with its package.json.

: "${here:?}"

# Ends the script as a test that is left out. `$1` says why.
skip() {
  echo "skipped: $1"
  exit 77
}

# npm_packages FOLDER FILE [--offline]: installs the packages into FOLDER in pinned versions, unless they are there, which FILE in it shows.
# Skips the test where that cannot be done, and with --offline where it would be needed.
npm_packages() {
  local folder=$1
  mkdir -p "$folder"
  if cmp -s "$here/package.json" "$folder/package.json" && [ -e "$folder/$2" ]; then return; fi
  [ "${3:-}" != --offline ] || skip "the npm packages are not in $folder; run $0 once without --offline"
  command -v npm >/dev/null || skip "there is no npm"
  cp "$here/package.json" "$folder/"
  if ! (cd "$folder" && timeout 300 npm install --ignore-scripts --no-audit --no-fund --fetch-retries 1 >npm.log 2>&1); then
    rm -f "$folder/package.json"
    skip "npm cannot install the packages; the end of $folder/npm.log: $(tail -3 "$folder/npm.log")"
  fi
}
