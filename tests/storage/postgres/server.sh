#!/usr/bin/env bash
# A PostgreSQL server for tests: in a folder of its own, on a unix socket alone, with a user "sg" that needs no password.
#
#   server.sh start FOLDER [PROCESS [LINE]...]
#                                      starts one in a new folder, with further lines in postgresql.conf, and waits until it answers. It
#                                      ends with PROCESS (the caller's parent without it), however that ends, and its folder goes with it
#   server.sh stop FOLDER              ends it, and removes the folder
#   server.sh crash FOLDER             ends it as a crash would (pg_ctl stop -m immediate), and starts it again
#   server.sh down FOLDER | up FOLDER  the two halves of that
#   server.sh standby FOLDER PROCESS SERVER
#                                      starts a standby, named after its folder, of the server in the folder SERVER; it ends with PROCESS
#   server.sh promote FOLDER           makes a standby a server of its own
#   server.sh tls FOLDER PORT          lets the server listen on 127.0.0.1:PORT, with TLS alone; FOLDER/data/server.crt is the certificate
#   server.sh pooler FOLDER PROCESS SERVER
#                                      starts PgBouncer in transaction mode with two connections to the server; it ends with PROCESS
#
# With STATEGRAPH_TEST_FSYNC=off, servers do not wait for the disk. Only a cut of the power would show it: a server that is killed
# has handed to the system what it has answered. The presets of builds with sanitizers set it.
#
# Exit code 77: there is no PostgreSQL server, or no PgBouncer, on this machine.
set -euo pipefail

command=${1:-} folder=${2:-}
[ -n "$command" ] && [ -n "$folder" ] || { sed -n '2,24s/^# \{0,1\}//p' "$0"; exit 2; }

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

up() { (cd "$folder" && as_user "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 300 start >/dev/null) || { cat "$folder/log" >&2; exit 1; }; }
down() {
  if [ -e "$folder/pooler.pid" ]; then
    kill -9 "$(cat "$folder/pooler.pid")" 2>/dev/null || true
  else
    (cd "$folder" && as_user "$bin/pg_ctl" -D "$folder/data" -m immediate -w -t 300 stop >/dev/null 2>&1) || true
  fi
}

stop() {
  [ -e "$folder/data" ] || [ -e "$folder/pooler.pid" ] || return 0
  down
  rm -rf "$folder"
}

make_folder() {
  stop
  rm -rf "$folder"
  mkdir -m 755 -p "$folder"
  if [ "$(id -u)" = 0 ]; then
    local user=postgres
    id -u $user >/dev/null 2>&1 || user=nobody
    chown "$user" "$folder"
  fi
}

start() {
  local process=$1
  shift
  make_folder
  (cd "$folder" && as_user "$bin/initdb" -D "$folder/data" -A trust -U sg -E UTF8 --locale=C --no-sync >"$folder/initdb.log" 2>&1) ||
    { cat "$folder/initdb.log" >&2; exit 1; }
  as_user tee -a "$folder/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = ''
unix_socket_directories = '$folder'
unix_socket_permissions = 0777
max_connections = 400
authentication_timeout = 600
shared_buffers = 64MB
wal_level = minimal
max_wal_senders = 0
autovacuum = on
logging_collector = off
log_min_messages = fatal
fsync = ${STATEGRAPH_TEST_FSYNC:-on}
$(printf '%s\n' "$@")
CONF
  up
  end_with "$process"
}

standby() {
  local process=$1 server=$2
  make_folder
  (cd "$folder" && as_user "$bin/pg_basebackup" -h "$server" -U sg -D "$folder/data" -X stream -c fast -R >"$folder/backup.log" 2>&1) ||
    { cat "$folder/backup.log" >&2; exit 1; }
  as_user tee -a "$folder/data/postgresql.conf" >/dev/null <<CONF
unix_socket_directories = '$folder'
primary_conninfo = 'host=$server user=sg application_name=$(basename "$folder" | tr -c 'a-z0-9\n' _)'
synchronous_standby_names = ''
CONF
  sed -i '/^primary_conninfo/d' "$folder/data/postgresql.auto.conf"
  up
  end_with "$process"
}

tls() {
  local port=$1
  as_user openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout "$folder/data/server.key" -out "$folder/data/server.crt" 2>"$folder/tls.log" || { cat "$folder/tls.log" >&2; exit 1; }
  chmod 600 "$folder/data/server.key"
  install -m 644 "$folder/data/server.crt" "$folder/server.crt"
  as_user tee -a "$folder/data/postgresql.conf" >/dev/null <<CONF
ssl = on
listen_addresses = '127.0.0.1'
port = $port
CONF
  printf '%s\n' 'local all all trust' 'hostssl all all 127.0.0.1/32 trust' | as_user tee "$folder/data/pg_hba.conf" >/dev/null
  down
  up
}

pooler() {
  local process=$1 server=$2 pgbouncer
  pgbouncer=$(command -v pgbouncer || PATH=/usr/sbin command -v pgbouncer) || { echo "server.sh: there is no PgBouncer here" >&2; exit 77; }
  make_folder
  as_user tee "$folder/pooler.ini" >/dev/null <<CONF
[databases]
* = host=$server user=sg
[pgbouncer]
unix_socket_dir = $folder
listen_port = 5432
auth_type = any
auth_file =
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
query_wait_timeout = 0
server_connect_timeout = 300
server_login_retry = 1
client_login_timeout = 300
server_reset_query =
logfile = $folder/log
pidfile = $folder/pooler.pid
CONF
  (cd "$folder" && as_user "$pgbouncer" -q -d "$folder/pooler.ini") || { cat "$folder/log" >&2; exit 1; }
  for _ in $(seq 3000); do
    [ -S "$folder/.s.PGSQL.5432" ] && [ -s "$folder/pooler.pid" ] && break
    sleep 0.1
  done
  [ -S "$folder/.s.PGSQL.5432" ] || { cat "$folder/log" >&2; exit 1; }
  end_with "$process"
}

end_with() {
  local process=$1
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
start) start "${3:-$PPID}" "${@:4}" ;;
standby) standby "$3" "$4" ;;
promote) (cd "$folder" && as_user "$bin/pg_ctl" -D "$folder/data" -w -t 300 promote >/dev/null) ;;
tls) tls "$3" ;;
pooler) pooler "$3" "$4" ;;
stop) stop ;;
crash) down && up ;;
down) down ;;
up) up ;;
*) echo "server.sh: there is no command '$command'" >&2; exit 2 ;;
esac
