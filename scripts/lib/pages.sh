# shellcheck shell=bash
# Sourced by scripts/test.sh, after scripts/lib/packages.sh: what the tests of pages need beside the library.
#
#   need_pages   Chromium, Node and npm (Debian: chromium, nodejs, npm), and the npm packages of inspect/web,
#                examples/langgraph_server/page, tests/pages, tests/mcp/everything, tests/mcp/clients and tests/clients
#
# What cannot be fetched ends nothing: a line says what is missing, and the configuration then leaves these tests out.

: "${repo:?}"

# Succeeds where a browser is that the tests drive.
have_chromium() { have chromium || have chromium-browser; }

# npm_into FOLDER WORDS...: has npm install into a folder. One that was interrupted is begun again.
npm_into() {
  local folder=$1
  shift
  [ -f "$folder/node_modules/.stategraph-complete" ] && [ ! "$folder/package.json" -nt "$folder/node_modules/.stategraph-complete" ] && return
  say "Installing npm packages into ${folder#"$repo"/}"
  (cd "$folder" && npm "$@" --ignore-scripts --no-audit --no-fund --loglevel=error) || return 1
  : >"$folder/node_modules/.stategraph-complete"
}

# npm_of TESTS FOLDER WORDS: has npm install what TESTS/package.json lists into build/FOLDER. WORDS say what is left out without it.
npm_of() {
  local folder=$repo/build/$2
  mkdir -p "$folder"
  cmp -s "$repo/$1/package.json" "$folder/package.json" || cp "$repo/$1/package.json" "$folder/"
  npm_into "$folder" install || note "The $3 left out: npm could not fetch what $1/package.json lists."
}

need_pages() {
  local missing=()
  have_chromium || missing+=(chromium)
  have node || missing+=(nodejs)
  have npm || missing+=(npm)
  if [ ${#missing[@]} -gt 0 ] && ! (apt_install "${missing[@]}"); then
    note "The tests of pages are left out, because these are missing: ${missing[*]}"
    return
  fi
  # With a Node that is new enough, which Debian 12 does not have.
  npm_of tests/pages pages "tests of the advisor's page are"
  npm_into "$repo/inspect/web" ci ||
    note "The tests of the inspector's page are left out: npm could not fetch what inspect/web/package-lock.json lists."
  npm_into "$repo/examples/langgraph_server/page" ci ||
    note "The test that the page of examples/langgraph_server is built is left out: npm could not fetch what its package-lock.json lists."
  npm_of tests/mcp/everything mcp "test with the example server of MCP is"
  npm_of tests/mcp/clients mcp_clients "test with clients of MCP is"
  npm_of tests/clients clients "tests with LangGraph's and AG-UI's clients are"
  "$repo/tests/pages/node.sh" 20 "$repo/build/pages" >/dev/null ||
    note "The tests of pages are left out: they need Node 20 or newer, and there is none for this machine among the npm packages."
}
