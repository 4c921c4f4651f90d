#!/usr/bin/env bash
# A private MariaDB server as an ordinary process, for tests, drills and trials on one machine.
#
#   private_mariadb.sh start DIR    makes DIR's data on first use, starts the server, waits for it
#   private_mariadb.sh stop DIR     ends it in an orderly way
#   private_mariadb.sh kill DIR     ends it at once (kill -9), as a crash would
#   private_mariadb.sh status DIR   exit code 0 if it runs; says where
#
# Files in DIR: port, socket (the path of the socket), pid, rw_password, ro_password, root_password
# (mode 0600), data/, error.log, server.args. Database `baton`; users baton_rw (everything on it) and baton_ro
# (SELECT), over TCP on 127.0.0.1 and over the socket. Commits are as durable as by default
# (innodb_flush_log_at_trx_commit=1, doublewrite on, no binary log). Small where that costs no
# durability: redo log 96 MB, buffer pool 256 MB (BATON_MARIADB_POOL), no performance schema, no
# time zone tables. BATON_MARIADB_ARGS adds server options.
set -euo pipefail

fail() { echo "private_mariadb: $*" >&2; exit 1; }

[ $# -eq 2 ] || fail "usage: $0 start|stop|kill|status DIR"
action=$1
case $2 in /*) dir=$2 ;; *) dir=$PWD/$2 ;; esac
PATH=$PATH:/usr/sbin:/usr/local/sbin

# True if the process of DIR/pid is the server that was started here.
running() {
  [ -s "$dir/pid" ] || return 1
  local pid
  pid=$(cat "$dir/pid")
  [ -r "/proc/$pid/cmdline" ] || return 1
  tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF -- "--datadir=$dir/data"
}

# Ends the server with the given signal and waits until it is gone.
end_server() {
  running || { echo "not running"; return 0; }
  local pid
  pid=$(cat "$dir/pid")
  kill "-$1" "$pid"
  # A server that is stopped (SIGSTOP) must be able to obey.
  kill -CONT "$pid" 2>/dev/null || true
  for _ in $(seq 1 600); do
    running || { rm -f "$dir/pid"; return 0; }
    sleep 0.05
  done
  fail "process $pid does not end"
}

make_password() { head -c 18 /dev/urandom | od -An -tx1 | tr -d ' \n'; }

create_data() {
  command -v mariadb-install-db >/dev/null || fail "mariadb-install-db is missing (package mariadb-server)"
  rm -rf "$dir/data" "$dir/client.cnf"
  local user_args=()
  [ "$(id -u)" -ne 0 ] || user_args=(--user=root)
  mariadb-install-db --no-defaults "${user_args[@]}" --datadir="$dir/data" --tmpdir="$dir/tmp" --skip-test-db \
    --auth-root-authentication-method=normal --innodb-log-file-size=96M >"$dir/install.log" 2>&1 ||
    { cat "$dir/install.log" >&2; fail "mariadb-install-db failed"; }
  local name
  for name in rw ro root; do (umask 077; make_password >"$dir/${name}_password"); done
}

# The statements that make database and users; run by the server itself at each start.
write_init_file() {
  (umask 077; : >"$dir/init.sql")
  local rw ro host
  rw=$(cat "$dir/rw_password")
  ro=$(cat "$dir/ro_password")
  {
    echo "ALTER USER root@localhost IDENTIFIED BY '$(cat "$dir/root_password")';"
    # Whoever can reach the port could log in as those without a password.
    echo "DELETE FROM mysql.global_priv WHERE User='root' AND Host<>'localhost';"
    echo "FLUSH PRIVILEGES;"
    echo "CREATE DATABASE IF NOT EXISTS baton CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;"
    for host in localhost 127.0.0.1; do
      echo "CREATE USER IF NOT EXISTS 'baton_rw'@'$host' IDENTIFIED BY '$rw';"
      echo "GRANT ALL PRIVILEGES ON \`baton%\`.* TO 'baton_rw'@'$host';"
      echo "CREATE USER IF NOT EXISTS 'baton_ro'@'$host' IDENTIFIED BY '$ro';"
      echo "GRANT SELECT ON \`baton%\`.* TO 'baton_ro'@'$host';"
    done
  } >"$dir/init.sql"
}

# Ready: the init file has been run, so the read-write user can log in.
ready() {
  # The file keeps the password off the command line.
  if [ ! -s "$dir/client.cnf" ]; then
    (umask 077; printf '[client]\nuser=baton_rw\npassword=%s\n' "$(cat "$dir/rw_password")" >"$dir/client.cnf")
  fi
  mariadb --defaults-file="$dir/client.cnf" --socket="$dir/s" -e 'SELECT 1' baton >/dev/null 2>&1
}

start_server() {
  command -v mariadbd >/dev/null || fail "mariadbd is missing (package mariadb-server)"
  command -v mariadb >/dev/null || fail "mariadb is missing (package mariadb-client)"
  # A server that starts removes what it takes for leftovers in its folder for temporary tables.
  mkdir -p "$dir/tmp"
  chmod 700 "$dir"
  if running; then echo "already running on port $(cat "$dir/port")"; return 0; fi
  rm -f "$dir/pid" "$dir/s"
  # A first start that was cut short leaves no mark and is done again.
  if [ ! -e "$dir/created" ]; then create_data; touch "$dir/created"; fi
  write_init_file
  [ -s "$dir/port" ] || "$(dirname "$0")/free_ports.py" >"$dir/port"
  # A socket's path has at most 107 bytes.
  [ ${#dir} -le 100 ] || fail "the path $dir is too long for a socket"
  echo "$dir/s" >"$dir/socket"
  local args=(--no-defaults --datadir="$dir/data" --tmpdir="$dir/tmp" --socket="$dir/s" --port="$(cat "$dir/port")"
    --bind-address=127.0.0.1 --skip-name-resolve --character-set-server=utf8mb4
    --collation-server=utf8mb4_bin --innodb-log-file-size=96M
    --innodb-buffer-pool-size="${BATON_MARIADB_POOL:-256M}" --innodb-flush-log-at-trx-commit=1
    --skip-log-bin --skip-performance-schema --max-connections=500
    --log-error="$dir/error.log" --init-file="$dir/init.sql")
  [ "$(id -u)" -ne 0 ] || args+=(--user=root)
  # shellcheck disable=SC2206
  args+=(${BATON_MARIADB_ARGS:-})
  printf '%s\n' "${args[@]}" >"$dir/server.args"
  : >>"$dir/error.log"
  local log_start
  log_start=$(wc -c <"$dir/error.log")
  setsid mariadbd "${args[@]}" </dev/null >/dev/null 2>&1 &
  local pid=$!
  echo "$pid" >"$dir/pid"
  for _ in $(seq 1 600); do
    if ! kill -0 "$pid" 2>/dev/null; then
      tail -c "+$((log_start + 1))" "$dir/error.log" | grep -E 'ERROR|Aborting' >&2 || true
      if grep -q 'Address already in use' <(tail -c "+$((log_start + 1))" "$dir/error.log"); then
        rm -f "$dir/port"
      fi
      rm -f "$dir/pid"
      fail "the server ended at its start; see $dir/error.log"
    fi
    if ready; then echo "running on port $(cat "$dir/port")"; return 0; fi
    sleep 0.05
  done
  fail "the server is not ready after 30 s; see $dir/error.log"
}

case $action in
  start) start_server ;;
  stop) end_server TERM ;;
  kill) end_server KILL ;;
  status)
    if running; then echo "running on port $(cat "$dir/port")"; else echo "not running"; exit 1; fi
    ;;
  *) fail "unknown action $action" ;;
esac
