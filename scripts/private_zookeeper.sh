#!/bin/bash
# Runs a private ZooKeeper of one or three members on loopback, for tests and trying things out.
#
#   private_zookeeper.sh start DIR [--members 1|3] [--tick MS]   start all members, wait until they serve
#   private_zookeeper.sh stop DIR                                end all members
#   private_zookeeper.sh stop-member DIR N [SIGNAL]              end member N (KILL by default)
#   private_zookeeper.sh start-member DIR N                      start member N again, wait until it serves
#   private_zookeeper.sh status DIR                              one line a member
#
# DIR/connect holds the connect string, DIR/N/port the client port of member N, DIR/N/pid its
# process. Only processes started here are ended.
set -euo pipefail

jar_dir=/usr/share/java

usage() {
  sed -n '2,11p' "$0" | sed 's/^# \{0,1\}//' >&2
  exit 2
}

fail() {
  echo "private_zookeeper.sh: $*" >&2
  exit 1
}

four_letters() {  # PORT WORD
  # The subshell keeps the redirection from ending this script when nobody listens.
  (exec 3<>"/dev/tcp/127.0.0.1/$1" && printf '%s' "$2" >&3 && timeout 2 cat <&3) 2>/dev/null || true
}

has_ended() {  # PID; a child of this script that nobody has waited for counts as well
  local state
  state=$(sed 's/.*) //; s/ .*//' 2>/dev/null <"/proc/$1/stat") || true
  [[ -z $state || $state == [ZX] ]]
} 2>/dev/null

is_ours() {  # Is the recorded process of member N still that process?
  local pid_file=$1/$2/pid pid words
  [[ -s $pid_file ]] || return 1
  pid=$(<"$pid_file")
  # In the middle of an exec a process bears no words, which says nothing yet.
  for _ in $(seq 50); do
    words=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline") || true
    [[ -n $words ]] && break
    has_ended "$pid" && return 1
    read -rt 0.01 <> <(:) || true
  done
  grep -qxF "$1/$2/zoo.cfg" <<<"$words"
} 2>/dev/null

start_process() {
  local dir=$1 n=$2
  [[ -e $jar_dir/zookeeper.jar ]] || fail "$jar_dir/zookeeper.jar is missing (package zookeeper)"
  command -v java >/dev/null || fail "java is missing (a JRE)"
  local class_path=$jar_dir/zookeeper.jar
  [[ -e $jar_dir/slf4j-simple.jar ]] && class_path+=:$jar_dir/slf4j-simple.jar
  setsid java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dzookeeper.admin.enableServer=false \
    -cp "$class_path" org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/$n/zoo.cfg" \
    >>"$dir/$n/log" 2>&1 </dev/null &
  local pid=$!
  echo "$pid" >"$dir/$n/pid"
  # Until it has executed something it bears the name of this script, and does not look like ours.
  until is_ours "$dir" "$n" || has_ended "$pid"; do
    read -rt 0.01 <> <(:) || true
  done
}

wait_ready() {
  local dir=$1 n=$2 port deadline=$((SECONDS + 30))
  port=$(<"$dir/$n/port")
  while ! four_letters "$port" srvr | grep -q '^Mode:'; do
    is_ours "$dir" "$n" || fail "member $n ended: $(tail -n 3 "$dir/$n/log")"
    ((SECONDS < deadline)) || fail "member $n did not serve within 30 s: $(tail -n 3 "$dir/$n/log")"
    read -rt 0.05 <> <(:) || true
  done
}

end_member() {
  local dir=$1 n=$2 signal=${3:-KILL} pid
  is_ours "$dir" "$n" || return 0
  pid=$(<"$dir/$n/pid")
  kill -s "$signal" "$pid"
  [[ $signal == STOP || $signal == CONT ]] && return 0
  for _ in $(seq 200); do
    is_ours "$dir" "$n" || return 0
    read -rt 0.05 <> <(:) || true
  done
  fail "member $n (process $pid) does not end"
}

members_of() {
  local n
  for n in 1 2 3; do [[ -d $1/$n ]] && echo "$n"; done
  return 0
}

command_start() {
  local dir=$1 members=1 tick=500 ports n servers="" connect=""
  shift
  while (($#)); do
    case $1 in
      --members) members=$2 && shift 2 ;;
      --tick) tick=$2 && shift 2 ;;
      *) usage ;;
    esac
  done
  [[ $members == 1 || $members == 3 ]] || usage
  mkdir -p "$dir"
  for n in $(members_of "$dir"); do is_ours "$dir" "$n" && fail "member $n in $dir runs already"; done
  read -ra ports < <("$(dirname "$0")/free_ports.py" $((members * 3)))
  ((${#ports[@]} == members * 3)) || fail "free_ports.py named no ports"
  for ((n = 1; n <= members; n++)); do
    servers+="server.$n=127.0.0.1:${ports[members + n - 1]}:${ports[2 * members + n - 1]}"$'\n'
    connect+=${connect:+,}127.0.0.1:${ports[n - 1]}
  done
  ((members == 1)) && servers=""
  for ((n = 1; n <= members; n++)); do
    mkdir -p "$dir/$n/data"
    echo "$n" >"$dir/$n/data/myid"
    echo "${ports[n - 1]}" >"$dir/$n/port"
    cat >"$dir/$n/zoo.cfg" <<CFG
tickTime=$tick
initLimit=10
syncLimit=4
clientPort=${ports[n - 1]}
clientPortAddress=127.0.0.1
dataDir=$dir/$n/data
4lw.commands.whitelist=*
admin.enableServer=false
minSessionTimeout=1000
maxClientCnxns=0
$servers
CFG
    start_process "$dir" "$n"
  done
  echo "$connect" >"$dir/connect"
  for ((n = 1; n <= members; n++)); do wait_ready "$dir" "$n"; done
}

(($# >= 2)) || usage
verb=$1
case $verb in
  start) mkdir -p "$2" ;;
  stop|stop-member|start-member|status) [[ -d $2 ]] || fail "there is no folder $2" ;;
  *) usage ;;
esac
dir=$(realpath "$2")
shift 2
case $verb in
  start) command_start "$dir" "$@" ;;
  stop) for n in $(members_of "$dir"); do end_member "$dir" "$n" KILL; done ;;
  stop-member) end_member "$dir" "${1:?member}" "${2:-KILL}" ;;
  start-member)
    is_ours "$dir" "${1:?member}" && fail "member $1 runs already"
    start_process "$dir" "$1"
    wait_ready "$dir" "$1"
    ;;
  status)
    for n in $(members_of "$dir"); do
      mode=$(is_ours "$dir" "$n" && four_letters "$(<"$dir/$n/port")" srvr | sed -n 's/^Mode: //p' || true)
      echo "member=$n port=$(<"$dir/$n/port") mode=${mode:-down}"
    done
    ;;
  *) usage ;;
esac
