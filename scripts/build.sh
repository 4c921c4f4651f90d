#!/usr/bin/env bash
# Builds baton; the program is then build/<preset>/baton.
#   scripts/build.sh [release|debug|asan|tsan|mutants] [--tests] [--jobs N] [--target T]...
# --tests builds the tests and benchmarks too (needs scripts/setup.sh --test).
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,4s/^# \{0,1\}//p' "$0"; }

preset=release
tests=
jobs=$(nproc)
targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    release|debug|asan|tsan|mutants) preset=$1 ;;
    --tests) tests=yes ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    --target) targets+=("${2:?--target needs a name}"); shift ;;
    -h|--help) usage; exit 0 ;;
    *) echo "build.sh: unknown argument $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

# The same file compiled in another checkout is the same file: only relative paths count.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# A folder that was configured with tests stays so: the plain build then only leaves them out.
configure=(cmake --preset "$preset" -Wno-dev)
if [ -n "$tests" ]; then
  configure+=(-DBATON_TESTS=ON)
elif ! grep -qs '^BATON_TESTS:BOOL=ON' "build/$preset/CMakeCache.txt"; then
  configure+=(-DBATON_TESTS=OFF)
fi
if [ "${#targets[@]}" -eq 0 ] && [ -z "$tests" ]; then targets=(baton); fi

mkdir -p build
log=build/configure-$preset.log
"${configure[@]}" >"$log" 2>&1 || {
  cat "$log" >&2
  echo "build.sh: configuring failed; scripts/setup.sh installs what is needed" >&2
  exit 1
}
build=(cmake --build "build/$preset" -j "$jobs")
for target in "${targets[@]}"; do build+=(--target "$target"); done
"${build[@]}"
if [ -x "build/$preset/baton" ]; then echo "built build/$preset/baton"; fi
