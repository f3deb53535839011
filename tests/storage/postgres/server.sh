#!/usr/bin/env bash
# A PostgreSQL server for tests: in a folder of its own, on a unix socket alone, with a user "sg" that needs no password.
#
#   server.sh start FOLDER [PROCESS]   starts one in a new folder, and waits until it answers. It ends with PROCESS (the caller's parent
#                                      without it), however that ends, and its folder goes with it
#   server.sh stop FOLDER              ends it, and removes the folder
#   server.sh crash FOLDER             ends it as a crash would (pg_ctl stop -m immediate), and starts it again
#   server.sh down FOLDER | up FOLDER  the two halves of that
#
# Exit code 77: there is no PostgreSQL server on this machine.
set -euo pipefail

command=${1:-} folder=${2:-}
[ -n "$command" ] && [ -n "$folder" ] || { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }

# The newest one of those that Debian's packages have, or what PATH has.
binaries() {
  local newest
  newest=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort -V | tail -n 1)
  [ -n "$newest" ] || newest=$(command -v postgres || true)
  [ -n "$newest" ] || { echo "server.sh: there is no PostgreSQL server here" >&2; exit 77; }
  dirname "$newest"
}
bin=$(binaries)

# The server does not run as root.
as_user() {
  if [ "$(id -u)" != 0 ]; then "$@"; return; fi
  local user=postgres
  id -u $user >/dev/null 2>&1 || user=nobody
  setpriv --reuid=$user --regid="$(id -g $user)" --clear-groups "$@"
}

up() { (cd "$folder" && as_user "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 60 start >/dev/null) || { cat "$folder/log" >&2; exit 1; }; }
down() { (cd "$folder" && as_user "$bin/pg_ctl" -D "$folder/data" -m immediate -w -t 60 stop >/dev/null 2>&1) || true; }

stop() {
  [ -e "$folder/data" ] || return 0
  down
  rm -rf "$folder"
}

start() {
  local process=$1
  stop
  rm -rf "$folder"
  mkdir -m 755 -p "$folder"
  if [ "$(id -u)" = 0 ]; then
    local user=postgres
    id -u $user >/dev/null 2>&1 || user=nobody
    chown "$user" "$folder"
  fi
  (cd "$folder" && as_user "$bin/initdb" -D "$folder/data" -A trust -U sg -E UTF8 --locale=C --no-sync >"$folder/initdb.log" 2>&1) ||
    { cat "$folder/initdb.log" >&2; exit 1; }
  as_user tee -a "$folder/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = ''
unix_socket_directories = '$folder'
unix_socket_permissions = 0777
max_connections = 60
shared_buffers = 64MB
wal_level = minimal
max_wal_senders = 0
autovacuum = on
logging_collector = off
log_min_messages = fatal
CONF
  up
  # However the process ends, so does the server; but not one that was started in the same folder after it.
  local owner=$$.$RANDOM$RANDOM
  echo "$owner" >"$folder/owner"
  setsid bash -c '
    is_own() { [ "$(cat "$2/owner" 2>/dev/null)" = "$3" ]; }
    while kill -0 "$1" 2>/dev/null && is_own "$@"; do sleep 0.5; done
    if is_own "$@"; then "$0" stop "$2"; fi' \
    "$(readlink -f "$0")" "$process" "$folder" "$owner" </dev/null >/dev/null 2>&1 &
}

case $command in
start) start "${3:-$PPID}" ;;
stop) stop ;;
crash) down && up ;;
down) down ;;
up) up ;;
*) echo "server.sh: there is no command '$command'" >&2; exit 2 ;;
esac
