#!/bin/bash
# The live sets of installed releases of the collector, by every kind of root: builds root_rules.c
# with the libgc of each prefix, shared, static and stripped, and compares.
#
#   integration/releases.sh BUILD PREFIX...     BUILD: a build directory with the live tests
#
# Prints a table: for each program and kind of root what the collector lists, how much of that is
# links of free lists, what is missing of the rest, and what is found and not listed. Fails if
# anything is.
set -euo pipefail
build=$(realpath "$1")
shift
source=$(dirname "$(realpath "$0")")/targets/root_rules.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-g -O0 -fno-omit-frame-pointer -Wno-deprecated-declarations)
programs=()
for prefix in "$@"; do
  prefix=$(realpath "$prefix")
  name=$work/$(basename "$prefix")
  common=("${flags[@]}" -I"$prefix/include" "$source")
  gcc "${common[@]}" -o "$name.shared" -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -lgc -lpthread -ldl
  gcc "${common[@]}" -o "$name.static" "$prefix/lib/libgc.a" -lpthread -ldl
  strip -o "$name.stripped" "$name.static"
  programs+=("$name.shared" "$name.static" "$name.stripped")
done
result=0
HEAPATTACH_ROOT_RULES=$(IFS=:; echo "${programs[*]}") "$build/integration/heapattach_integration" \
  -sf='*root_rules_test*' >"$work/output" 2>&1 || result=$?
grep '^figure: root rules' "$work/output" | sed "s|$work/||; s|^figure: root rules, ||"
[ "$result" = 0 ] || grep -v '^figure: ' "$work/output" >&2
exit "$result"
