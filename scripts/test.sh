#!/usr/bin/env bash
# Installs what the tests need, builds, and runs every check. Ends with a line that says how many
# passed; exit 1 if anything failed.
#   scripts/test.sh [--tsan] [--mutants] [--long] [--quick]
# --tsan     also build with ThreadSanitizer; run unit tests, simulations (a tenth of the runs) and
#            the election against a real ZooKeeper with it
# --mutants  also break one promise at a time and demand that a test notices (scripts/mutants.sh)
# --long     the full durations and counts of the drills (BATON_LONG) and more simulated runs; an hour
# --quick    release build and unit tests alone, and the checks of the text
set -uo pipefail
cd "$(dirname "$0")/.."

tsan= mutants= long= quick=
for argument in "$@"; do
  case "$argument" in
    --tsan) tsan=yes ;;
    --mutants) mutants=yes ;;
    --long) long=yes ;;
    --quick) quick=yes ;;
    -h|--help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "test.sh: unknown option $argument" >&2; exit 2 ;;
  esac
done
# The limits of the tests are set when the build is configured.
[ -z "$long" ] || export BATON_LONG=1
jobs=$(nproc)
started=$SECONDS
passed=0
failed=()

# Runs one check, counts it, and says how long it took.
check() {
  local name=$1 begin=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  if "$@"; then
    passed=$((passed + 1))
    echo "-- $name: passed ($((SECONDS - begin)) s)"
  else
    failed+=("$name")
    echo "-- $name: FAILED ($((SECONDS - begin)) s)"
  fi
}

# Tests of one build; their number goes into the closing line.
tests_run=0
tests_failed=0
not_tested=()
run_ctest() {
  local preset=$1 log
  shift
  mkdir -p build
  log=build/ctest-$preset.log
  ctest --test-dir "build/$preset" --output-on-failure -j "$jobs" --timeout 600 --no-tests=error "$@" \
    >"$log" 2>&1
  local code=$? line
  line=$(grep -E '^[0-9]+% tests passed' "$log" | tail -n 1)
  if [[ $line =~ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
    tests_failed=$((tests_failed + BASH_REMATCH[1]))
    tests_run=$((tests_run + BASH_REMATCH[2]))
  fi
  # ctest counts a test that skipped itself as passed.
  mapfile -t -O ${#not_tested[@]} not_tested < <(
    grep -a 'NOT TESTED' "build/$preset/Testing/Temporary/LastTest.log" 2>/dev/null |
      sed "s/^ */not tested ($preset): /")
  if [ $code -eq 0 ]; then echo "$line"; else grep -vE '^ *[0-9]+/[0-9]+ Test .* Passed|^ *Start ' "$log"; fi
  return $code
}

# Files that differ from the main branch, or the last commit's when there is no other branch.
tidy_changed() {
  local base files
  base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD~1 2>/dev/null) || return 0
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- '*.cc' | grep -v '^tests/' | head -n 6)
  [ "${#files[@]}" -gt 0 ] || { echo "no changed files"; return 0; }
  printf '%s\n' "${files[@]}" |
    xargs -P "$jobs" -n 1 timeout 120 clang-tidy-14 -p build/tidy --quiet 2>/dev/null
}
# clang-tidy wants each file's own command line, which a unity build does not have.
tidy() {
  cmake --preset release -B build/tidy -DBATON_UNITY=OFF -DBATON_TESTS=OFF >build/tidy.log 2>&1 ||
    { cat build/tidy.log; return 1; }
  tidy_changed
}

check "packages" scripts/setup.sh --test
check "layers" /usr/bin/env python3 scripts/check_layers.py
check "format" scripts/format.sh --check
check "cases" /usr/bin/env python3 scripts/check_cases.py
check "release build" scripts/build.sh release --tests
if [ -n "$quick" ]; then
  check "unit tests" run_ctest release -L unit
else
  # The sanitizers see no more in a longer run: they keep to the usual counts.
  if [ -n "$long" ]; then
    BATON_SIM_RUNS=${BATON_SIM_RUNS:-50000} check "tests" run_ctest release
    unset BATON_LONG
  else
    check "tests" run_ctest release
  fi
  check "asan build" scripts/build.sh asan --tests --target sanitized_tests
  # The usual counts ran above; what the sanitizers see, they see in a part of them.
  BATON_SIM_RUNS=800 check "tests under asan and ubsan" run_ctest asan -L 'unit|simulation|sanitized'
  if [ -n "$tsan" ]; then
    check "tsan build" scripts/build.sh tsan --tests --target sanitized_tests
    # A simulation has one thread; a tenth of the runs shows that much.
    BATON_SIM_RUNS=800 check "tests under tsan" run_ctest tsan -L 'unit|simulation|sanitized'
  fi
  [ -z "$mutants" ] || check "mutants" scripts/mutants.sh
  check "tidy" tidy
fi

total=$((passed + ${#failed[@]}))
printf '\n'
for name in "${failed[@]}"; do echo "failed: $name"; done
# Once more and briefly what a long log hides.
for log in build/ctest-*.log; do
  [ "${#failed[@]}" -gt 0 ] && [ -e "$log" ] || continue
  grep -hE '\*\*\*|: Failure$|^(FAIL|ERROR): |Error: |invariant broken|^private_|Sanitizer: ' "$log" |
    cut -c 1-300 | tail -n 25
done
if [ "${#not_tested[@]}" -gt 0 ]; then
  printf '%s\n' "${not_tested[@]}"
  echo "${#not_tested[@]} tests could not run here: NOT TESTED"
fi
echo "$((tests_run - tests_failed)) of $tests_run tests and $passed of $total checks passed in $((SECONDS - started)) s"
if [ "$tests_run" -gt 0 ]; then
  echo "$(( (tests_run - tests_failed) * 100 / tests_run ))% tests passed, $tests_failed tests failed out of $tests_run"
fi
[ ${#failed[@]} -eq 0 ]
