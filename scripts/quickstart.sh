#!/usr/bin/env bash
# From a fresh checkout to running tasks: installs what is missing, builds, starts
# `baton standalone` in a temporary folder, runs a handful of tasks, shows what became of them, and
# stops again. Leaves nothing but the build.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }
say "Packages"
scripts/setup.sh
say "Build (a few minutes the first time)"
scripts/build.sh release

baton=$PWD/build/release/baton
folder=$(mktemp -d "${TMPDIR:-/tmp}/baton-quickstart-XXXXXX")
# Only this run's settings: whatever the user has set points elsewhere.
unset BATON_MASTERS BATON_TOKEN BATON_OUTPUT_FORMAT BATON_CLIENT_CONFIG
export XDG_CONFIG_HOME=$folder/config XDG_STATE_HOME=$folder/state
pid=
clean_up() {
  if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
    kill -TERM "$pid"
    wait "$pid" || true
  fi
  rm -rf "$folder"
}
trap clean_up EXIT

say "Start baton standalone"
"$baton" standalone --data-dir "$folder/data" --port 0 --runners 4 --heartbeat 1s \
  >"$folder/out" 2>"$folder/log" &
pid=$!
# Status says who leads, also that nobody does yet (exit code 5): it waits for nothing.
for _ in $(seq 200); do
  [ -s "$XDG_STATE_HOME/baton/client.yaml" ] && timeout 10 "$baton" cluster status >"$folder/status" 2>&1 && break
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
if ! timeout 30 "$baton" cluster status; then
  echo "quickstart: baton standalone did not come up; its log ends with" >&2
  tail -n 20 "$folder/log" >&2
  exit 1
fi

# Runs a line, showing it first as it would be typed.
show() {
  local word
  printf '\n$ baton'
  for word in "$@"; do
    case $word in
      *[!A-Za-z0-9_./:=,-]*) printf " '%s'" "${word//\'/\'\\\'\'}" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  timeout 120 "$baton" "$@"
}
must_end_with() {
  local want=$1 code=0
  shift
  show "$@" || code=$?
  if [ "$code" -ne "$want" ]; then
    echo "quickstart: exit code $code, expected $want; the log ends with" >&2
    tail -n 20 "$folder/log" >&2
    exit 1
  fi
}

say "A task: its output is shown, its exit code is ours"
must_end_with 0 task submit --name hello --follow -- echo "hello from baton"

say "A task that fails at first and is retried"
cat >"$folder/flaky.sh" <<'TASK'
echo "attempt $BATON_ATTEMPT"
[ "$BATON_ATTEMPT" -ge 3 ] || exit 7
TASK
must_end_with 0 task submit --name flaky --retry 3 --retry-delay 200ms --follow --script "$folder/flaky.sh"

say "A task that prints a lot"
must_end_with 0 task submit --name chatty --wait -- seq 1 200000

say "A task that is stopped"
long=$("$baton" task submit --name long --kill-grace 1s -- sleep 600)
for _ in $(seq 100); do
  [ "$("$baton" task get "$long" -o json | sed -n 's/^  "status": "\(.*\)",*$/\1/p')" = RUNNING ] && break
  sleep 0.1
done
must_end_with 0 task stop "$long"
timeout 60 "$baton" task wait "$long" || true

say "A task that fails for good"
must_end_with 3 task submit --name broken --wait -- sh -c 'echo "this goes wrong" >&2; exit 3'

say "What became of them"
show task list
say "The attempts of the one that was retried, and the end of the long output"
show task get 2 --attempts
show task logs 3 --stream stdout --tail 3
say "Who carried them"
show host list

say "Stop"
kill -TERM "$pid"
wait "$pid" || { echo "quickstart: baton standalone ended with exit code $?" >&2; exit 1; }
pid=
cat <<'NEXT'
It works. Where to go next:
  baton standalone                     the same for yourself (build/release/baton)
  scripts/setup.sh --test              packages that the next two need
  scripts/cluster.sh up                two masters, ZooKeeper, MariaDB and three workers here
  scripts/cluster.sh kill master-active   and see that nothing is lost
  scripts/test.sh                      every test
  docs/cli.md, docs/operations.md      all verbs; how to run it in earnest
NEXT
