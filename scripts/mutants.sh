#!/usr/bin/env bash
# Breaks one promise at a time and demands that a test notices: a test of the tests.
# Usage: scripts/mutants.sh [-B BUILD_DIR] [-j JOBS] [MUTANT...]
# Builds the `mutants` preset (only the test programs that are needed), runs each named test once
# as it is (it must pass) and once with each mutant that it has to catch (it must fail).
# Ends with 1 if a mutant lives or a test fails without one.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/mutants
jobs=$(nproc)
while getopts "B:j:h" option; do
  case "$option" in
    B) build=$OPTARG ;;
    j) jobs=$OPTARG ;;
    *) sed -n '2,6s/^# //p' "$0"; exit 2 ;;
  esac
done
shift $((OPTIND - 1))

# mutant | test program | filter of its tests
table=(
  "dao_no_fence|contract_dao|*OnlyTheRulingEpochBegins*:*NothingOfTheOldEpoch*"
  "dao_bump_kills_nobody|contract_dao|*OpenTransactionNeverCommitsAfterTheBump*"
  "dao_open_before_close|contract_dao|*AttemptClosesAndAnotherOpensInOneBatch*"
  "dao_commit_never_fails|contract_dao|*KillRightBeforeCommitIsReported*"
  "reply_before_commit|unit_master|StateWriterTest.*:TaskCommandsTest.*"
  "reply_before_commit|simulation_heartbeat|*LateLost*"
  "pair_rule_off|unit_master|HeartbeatRulesTest.*:HeartbeatHandlerTest.*"
  "pair_rule_off|simulation_heartbeat|*LateLost*"
  "last_order_ignored|unit_master|HeartbeatRulesTest.*:HeartbeatHandlerTest.*"
  "last_order_ignored|simulation_heartbeat|*LateLost*"
  "planner_moves_on_before_row|unit_master|PlannerGapTest.ACrashBetweenAnyTwoCommitsChangesNothing"
  "planner_no_unique_key|unit_master|PlannerTest.WhatWasBegunComesNoMore*"
  "compensation_before_current|unit_master|PlannerGapTest.WhatIsDueNowGoesBeforeTheBacklog"
  "join_counted_twice|unit_master|RunProgressTest.*"
  "overlap_ignored|unit_master|RunEngineTest.QueuedRuns*:RunEngineTest.Overlap*:RunEngineTest.ParallelRuns*"
  "old_epoch_accepted|unit_worker|RunnerTest.*"
  "journal_off|unit_worker|JournalTest.*"
  "leftovers_not_killed|integration_worker|*"
)

wanted() {
  [ "$#" -eq 1 ] && return 0
  local mutant=$1 name
  shift
  for name in "$@"; do [ "$name" = "$mutant" ] && return 0; done
  return 1
}

rows=()
programs=()
for row in "${table[@]}"; do
  IFS='|' read -r mutant program filter <<<"$row"
  if [ "$#" -gt 0 ] && ! wanted "$mutant" "$@"; then continue; fi
  rows+=("$row")
  programs+=("$program")
done
[ "${#rows[@]}" -gt 0 ] || { echo "no such mutant: $*" >&2; exit 2; }

cmake --preset mutants -B "$build" >/dev/null
mapfile -t programs < <(printf '%s\n' "${programs[@]}" | sort -u)
cmake --build "$build" -j "$jobs" --target "${programs[@]}" >/dev/null

# Prints the first test that failed; its status is the program's.
run() {
  local mutant=$1 program=$2 filter=$3 log status=0
  log=$(mktemp)
  BATON_MUTANT=$mutant timeout 180 "$build/tests/$program" --gtest_filter="$filter" \
    --gtest_fail_fast >"$log" 2>&1 || status=$?
  # A broken invariant may end the program before GoogleTest names the test.
  grep -m1 -oE '^\[  FAILED  \] [A-Za-z0-9_./]+' "$log" | cut -c14- ||
    grep -oE '^\[ RUN      \] [A-Za-z0-9_./]+' "$log" | tail -1 | cut -c14- || true
  rm -f "$log"
  return "$status"
}

failures=0
checked=" "
for row in "${rows[@]}"; do
  IFS='|' read -r mutant program filter <<<"$row"
  if [[ "$checked" != *" $program/$filter "* ]]; then
    checked+="$program/$filter "
    if ! test=$(run "" "$program" "$filter"); then
      echo "FAIL  $program fails without a mutant: $test"
      failures=$((failures + 1))
      continue
    fi
  fi
  if test=$(run "$mutant" "$program" "$filter"); then
    echo "LIVES $mutant: $program ($filter) did not notice"
    failures=$((failures + 1))
  else
    echo "dead  $mutant: caught by $program, $test"
  fi
done
[ "$failures" -eq 0 ]
