#!/usr/bin/env bash
# A whole cluster on this machine, as ordinary processes under one folder: private ZooKeeper,
# private MariaDB, masters and workers on free ports. Ends only what it started.
#
#   cluster.sh up [--dir D] [--masters 2] [--workers 3] [--runners 4] [--zk 1|3] [--heartbeat 1s]
#   cluster.sh status                          every process, and what the active master says
#   cluster.sh env                             exports for eval: BATON_MASTERS and BATON_TOKEN
#   cluster.sh kill master-active|master-standby|master N|worker N|shepherd N [--signal KILL]
#   cluster.sh stop master N|worker N          ends one in an orderly way (TERM)
#   cluster.sh start master N|worker N         starts it again, however it ended
#   cluster.sh stop|start zk|db                takes ZooKeeper or the database away, and back
#   cluster.sh down [--purge]                  ends everything; --purge removes the folder too
#
# Each takes --dir D (default: baton-cluster in the folder for temporary files).
# BATON_BIN names the program (default: the one of `up`, which takes build/release/baton).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
baton=${BATON_BIN:-$here/../build/release/baton}
dir=${TMPDIR:-/tmp}/baton-cluster
masters=2 workers=3 runners=4 members=1 heartbeat=1s signal=KILL purge=

fail() { echo "cluster.sh: $*" >&2; exit 1; }
usage() { sed -n '2,16s/^# \{0,1\}//p' "$0"; }

words=()
while [ $# -gt 0 ]; do
  case "$1" in
    --dir) dir=${2:?--dir needs a folder}; shift ;;
    --masters) masters=${2:?}; shift ;;
    --workers) workers=${2:?}; shift ;;
    --runners) runners=${2:?}; shift ;;
    --zk) members=${2:?}; shift ;;
    --heartbeat) heartbeat=${2:?}; shift ;;
    --signal) signal=${2#SIG}; shift ;;
    --purge) purge=yes ;;
    -h|--help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) words+=("$1") ;;
  esac
  shift
done
for number in "$masters" "$workers" "$runners"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || fail "\"$number\" is no number from 1"
done
case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
# Later commands use the program that the cluster was made with.
if [ -z "${BATON_BIN:-}" ] && [ -s "$dir/program" ]; then baton=$(cat "$dir/program"); fi

# "pid start-ticks" of a process: a recycled pid has other ticks.
mark_of() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # The name in the second field may hold blanks; what follows it does not.
  set -- "$1" ${stat##*) }
  [ "$2" != Z ] || return 1
  echo "$1 ${21}"
}
# Prints the pid of a process that was started here, if it still is that process.
alive() {
  [ -s "$dir/$1/pid" ] || return 1
  local mark
  mark=$(cat "$dir/$1/pid")
  [ "$(mark_of "${mark%% *}" || true)" = "$mark" ] || return 1
  echo "${mark%% *}"
}
wait_gone() {
  local i
  for ((i = 0; i < $2 * 20; i++)); do
    alive "$1" >/dev/null || return 0
    sleep 0.05
  done
  return 1
}
secret_file() { [ -s "$1" ] || (umask 077; head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$1"); }
names_of() { local d; for d in "$dir/$1"[0-9]*; do [ -d "$d" ] && basename "$d"; done | sort -V; }
master_list() {
  local name out=()
  for name in $(names_of master); do out+=("127.0.0.1:$(cat "$dir/$name/port")"); done
  (IFS=,; echo "${out[*]}")
}
client() {
  BATON_MASTERS=$(master_list) BATON_TOKEN=$(cat "$dir/token") "$baton" --patience 5s "$@"
}

write_master() {
  local name=$1 port
  mkdir -p "$dir/$name"
  port=$("$here/free_ports.py")
  echo "$port" >"$dir/$name/port"
  cat >"$dir/$name/master.yaml" <<YAML
node:
  id: $name
cluster:
  name: trial
http:
  host: 127.0.0.1
  port: $port
zookeeper:
  hosts: [$(sed 's/,/, /g' "$dir/zk/connect")]
database:
  socket: $(cat "$dir/db/socket")
  user: baton_rw
  password_file: $dir/db/rw_password
  reader_user: baton_ro
  reader_password_file: $dir/db/ro_password
heartbeat:
  plain_clients: true
callback:
  allow: [127.0.0.1, localhost]
security:
  token_file: $dir/token
  worker_token_file: $dir/worker_token
YAML
}
write_worker() {
  local name=$1
  mkdir -p "$dir/$name/data"
  cat >"$dir/$name/worker.yaml" <<YAML
worker:
  id: $name
  runners: $runners
  labels: {worker: $name}
  masters: [$(master_list | sed 's/,/, /g')]
  data_dir: $dir/$name/data
http:
  host: 127.0.0.1
  port: 0
security:
  worker_token_file: $dir/worker_token
YAML
}

# Starts a master or worker; the log of former runs is kept.
start_process() {
  local name=$1 verb=${1%%[0-9]*} pid
  [ -d "$dir/$name" ] || fail "there is no $name under $dir"
  if alive "$name" >/dev/null; then return 0; fi
  # Its own session: a Ctrl-C that is meant for the script reaches nobody else.
  [ -x "$baton" ] || fail "$baton is missing; scripts/build.sh makes it"
  setsid "$baton" "$verb" --config "$dir/$name/$verb.yaml" </dev/null >>"$dir/$name/log" 2>&1 &
  pid=$!
  mark_of "$pid" >"$dir/$name/pid" || true
  disown "$pid" 2>/dev/null || true
  # What is wrong with settings or ports shows at once.
  sleep 0.2
  alive "$name" >/dev/null || { tail -n 5 "$dir/$name/log" >&2; fail "$name did not start"; }
}

role_of() {
  curl -s -m 2 -H "Authorization: Bearer $(cat "$dir/token")" \
    "http://127.0.0.1:$(cat "$dir/$1/port")/api/v1/cluster" 2>/dev/null |
    python3 -c 'import json, sys
try: print(json.load(sys.stdin).get("role", ""))
except ValueError: print("")'
}
# A living master of that role.
master_with_role() {
  local name
  for name in $(names_of master); do
    if alive "$name" >/dev/null && [ "$(role_of "$name")" = "$1" ]; then echo "$name"; return 0; fi
  done
  return 1
}

# The shepherd of a worker is found by the folder that it was started for.
shepherd_of() {
  local proc command
  for proc in /proc/[0-9]*; do
    command=$({ tr '\0' ' ' <"$proc/cmdline"; } 2>/dev/null) || continue
    case $command in *" shepherd "*"--dir $dir/$1/data"*) echo "${proc#/proc/}"; return 0 ;; esac
  done
  return 1
}
# Tasks carry the folder of their attempt in their environment or as working directory.
tasks_of() {
  local proc
  for proc in /proc/[0-9]*; do
    if { tr '\0' '\n' <"$proc/environ"; } 2>/dev/null | grep -qF "=$dir/$1/data/"; then
      echo "${proc#/proc/}"
    fi
  done
}

up() {
  [ -x "$baton" ] || fail "$baton is missing; scripts/build.sh makes it"
  [ ! -e "$dir/token" ] || fail "$dir holds a cluster; \"cluster.sh down --purge --dir $dir\" removes it"
  mkdir -p "$dir"
  chmod 700 "$dir"
  realpath "$baton" >"$dir/program"
  secret_file "$dir/token"
  secret_file "$dir/worker_token"
  trap 'echo "cluster.sh: up failed; ending what was started" >&2; down' ERR
  "$here/private_mariadb.sh" start "$dir/db" | sed 's/^/db       /'
  "$here/private_zookeeper.sh" start "$dir/zk" --members "$members"
  local i
  for ((i = 1; i <= masters; i++)); do write_master "master$i"; done
  for ((i = 1; i <= workers; i++)); do write_worker "worker$i"; done
  "$baton" cluster init --config "$dir/master1/master.yaml" --heartbeat "$heartbeat"
  for ((i = 1; i <= masters; i++)); do start_process "master$i"; done
  for ((i = 1; i <= workers; i++)); do start_process "worker$i"; done
  await_active 30 || { tail -n 5 "$dir"/master*/log >&2; fail "no master became active within 30 s"; }
  trap - ERR
  status
  echo "use it:   eval \"\$($0 env --dir $dir)\""
}
await_active() {
  local i
  for ((i = 0; i < $1 * 5; i++)); do
    if master_with_role active >/dev/null; then return 0; fi
    sleep 0.2
  done
  return 1
}

status() {
  [ -e "$dir/token" ] || fail "there is no cluster under $dir"
  local name pid
  for name in $(names_of master) $(names_of worker); do
    if pid=$(alive "$name"); then
      case $name in
        master*) echo "$name  pid $pid  127.0.0.1:$(cat "$dir/$name/port")  $(role_of "$name")" ;;
        *) echo "$name  pid $pid  shepherd $(shepherd_of "$name" || echo none)" ;;
      esac
    else
      echo "$name  not running"
    fi
  done
  echo "db       $("$here/private_mariadb.sh" status "$dir/db" || true)"
  "$here/private_zookeeper.sh" status "$dir/zk" | sed 's/^/zk       /' || true
}

# Of the master, worker or shepherd that is meant.
number_of() {
  [ -n "${words[2]:-}" ] || fail "$1 ${words[1]} needs a number, such as $1 ${words[1]} 1"
  echo "${words[2]}"
}

kill_one() {
  local name pid
  case ${words[1]:-} in
    master-active) name=$(master_with_role active) || fail "no master is active" ;;
    master-standby) name=$(master_with_role standby) || fail "no master is standby" ;;
    master|worker) name=${words[1]}$(number_of "$1") ;;
    shepherd)
      name=worker$(number_of "$1")
      pid=$(shepherd_of "$name") || fail "$name has no shepherd"
      kill "-$signal" "$pid"
      echo "sent $signal to the shepherd of $name (pid $pid)"
      return 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  pid=$(alive "$name") || fail "$name is not running"
  kill "-$signal" "$pid"
  # TERM lets a master hand over and a daemon take leave.
  case $signal in KILL|TERM) wait_gone "$name" 15 || fail "pid $pid does not end" ;; esac
  echo "sent $signal to $name (pid $pid)"
}

# Members keep their data and ports; they start together, because each waits for a quorum.
zookeeper() {
  local member waits=() failed=
  if [ "$1" = stop ]; then "$here/private_zookeeper.sh" stop "$dir/zk"; return; fi
  for member in "$dir"/zk/[0-9]*; do
    "$here/private_zookeeper.sh" start-member "$dir/zk" "$(basename "$member")" &
    waits+=($!)
  done
  for member in "${waits[@]}"; do wait "$member" || failed=yes; done
  [ -z "$failed" ]
}

service() {
  local name
  case ${words[1]:-} in
    zk) zookeeper "$1" && "$here/private_zookeeper.sh" status "$dir/zk" ;;
    db) "$here/private_mariadb.sh" "$1" "$dir/db"
      [ "$1" = start ] || echo "db is stopped" ;;
    master|worker)
      [ "$1" = start ] || { signal=TERM; kill_one stop; return; }
      name=${words[1]}$(number_of start)
      start_process "$name"
      echo "$name runs (pid $(alive "$name"))" ;;
    *) usage >&2; exit 2 ;;
  esac
}

down() {
  [ -d "$dir" ] || { echo "nothing under $dir"; return 0; }
  local name pid
  for name in $(names_of worker) $(names_of master); do
    if pid=$(alive "$name"); then
      kill -TERM "$pid" 2>/dev/null || true
      kill -CONT "$pid" 2>/dev/null || true
    fi
  done
  for name in $(names_of worker) $(names_of master); do
    if ! wait_gone "$name" 15; then kill -KILL "$(alive "$name")" 2>/dev/null || true; fi
  done
  for name in $(names_of worker); do
    if pid=$(shepherd_of "$name"); then kill -KILL "$pid" 2>/dev/null || true; fi
    for pid in $(tasks_of "$name"); do kill -KILL "$pid" 2>/dev/null || true; done
  done
  [ ! -d "$dir/zk" ] || "$here/private_zookeeper.sh" stop "$dir/zk" >/dev/null || true
  [ ! -d "$dir/db" ] || "$here/private_mariadb.sh" stop "$dir/db" >/dev/null || true
  if [ -n "$purge" ] && [ -e "$dir/token" ]; then rm -rf "$dir"; fi
  echo "down"
}

case ${words[0]:-} in
  up) up ;;
  status) status ;;
  env)
    [ -e "$dir/token" ] || fail "there is no cluster under $dir"
    echo "export BATON_MASTERS=$(master_list)"
    echo "export BATON_TOKEN=$(cat "$dir/token")" ;;
  kill) kill_one kill ;;
  start) service start ;;
  stop) service stop ;;
  down) down ;;
  *) usage >&2; exit 2 ;;
esac
