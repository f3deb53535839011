# shellcheck shell=bash
# Sourced by the scripts: the rooms, as CMake has written them into rooms.txt of a build folder (cmake/Rooms.cmake), a line
# NAME|words|what it uses|its paths each.
#
#   all_rooms FILE             their names
#   rooms_with FILE WORD       those with a word: built, starts_threads, core (the floors)
#   users_of FILE ROOM…        those that use one of these directly
#   testers_of FILE ROOM…      those whose tests are also these rooms' (TESTED_BY)
#   rooms_of FILE < PATHS      those that the files belong to; `core` if a public header of the core is among them

all_rooms() { cut -d '|' -f 1 "$1"; }

rooms_with() { awk -F '|' -v w="$2" '(" " $2 " ") ~ " " w " " { print $1 }' "$1"; }

users_of() {
  local file=$1
  shift
  awk -F '|' -v wanted="$*" '
    BEGIN { n = split(wanted, names, " "); for (i = 1; i <= n; i++) is_wanted[names[i]] = 1 }
    { n = split($3, used, " "); for (i = 1; i <= n; i++) if (used[i] in is_wanted) { print $1; next } }' "$file"
}

testers_of() {
  local file=$1 room
  shift
  for room in "$@"; do
    awk -F '|' -v room="$room" '$1 == room { print $2 }' "$file" | tr ' ' '\n' | grep -xFf <(all_rooms "$file") | grep -vx core || true
  done
}

rooms_of() {
  awk -F '|' '
    FNR == NR { n = split($4, path, " "); for (i = 1; i <= n; i++) room[path[i]] = $1; next }
    {
      path = $0
      while (path != "") {
        if (path in room) { if (!(room[path] in seen)) print room[path]; seen[room[path]] = 1; break }
        if (path !~ "/") break
        sub("/[^/]*$", "", path)
      }
    }' "$1" -
}
