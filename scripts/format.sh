#!/usr/bin/env bash
# Formats the C++ files of the repository.
#   scripts/format.sh [FILE...]    rewrites (all tracked and new files by default)
#   scripts/format.sh --check      changes nothing, lists what differs, exit 1 if something does
set -euo pipefail
cd "$(dirname "$0")/.."

formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$formatter" ]; then
  echo "format.sh: clang-format-14 is missing; scripts/setup.sh --test installs it" >&2
  exit 1
fi
check=
if [ "${1:-}" = --check ]; then check=yes; shift; fi
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.cc' '*.h' |
                       while read -r file; do [ -f "$file" ] && echo "$file"; done)
fi
[ "${#files[@]}" -gt 0 ] || exit 0
if [ -z "$check" ]; then
  "$formatter" -i "${files[@]}"
  exit 0
fi
bad=0
for file in "${files[@]}"; do
  if ! "$formatter" "$file" | cmp -s - "$file"; then
    echo "$file: not formatted; scripts/format.sh $file mends it"
    bad=$((bad + 1))
  fi
done
echo "format: ${#files[@]} files, $bad not formatted"
[ "$bad" -eq 0 ]
