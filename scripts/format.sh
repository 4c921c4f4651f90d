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
result=0
said=$(printf '%s\0' "${files[@]}" |
       xargs -0 -n 16 -P "$(nproc)" "$formatter" --dry-run -Werror 2>&1) || result=1
# One line a file, not one for each place in it.
mapfile -t bad < <(sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: .*/\1/p' <<<"$said" | sort -u)
for file in "${bad[@]}"; do
  echo "$file: not formatted; scripts/format.sh $file mends it"
done
[ "$result" -eq 0 ] || [ "${#bad[@]}" -gt 0 ] || echo "$said"
echo "format: ${#files[@]} files, ${#bad[@]} not formatted"
exit "$result"
