#!/bin/bash
# The live sets of installed releases of the collector, just after a collection, by every kind of
# root and by every rule of marking: builds the programs below with the libgc of each prefix,
# shared, static and stripped, and compares.
#
#   integration/releases.sh BUILD PREFIX...     BUILD: a build directory with the live tests
#
# Prints a table: for each program and kind of root, or rule, how much the collector lists, how much
# of that is links of free lists, what is missing of the rest, and what is found but not listed.
# Fails if any object is missing, or found but not listed.
set -euo pipefail
build=$(realpath "$1")
shift
targets=$(dirname "$(realpath "$0")")/targets
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-g -O0 -fno-omit-frame-pointer -Wno-deprecated-declarations)
result=0
export HEAPATTACH_LONG=1
for rules in root_rules:root marking_rules:marking known_live_set:live_set unswept:live_set; do
  tests=${rules#*:}
  rules=${rules%:*}
  programs=()
  for prefix in "$@"; do
    prefix=$(realpath "$prefix")
    name=$work/$rules.$(basename "$prefix")
    common=("${flags[@]}" -I"$prefix/include" "$targets/$rules.c")
    gcc "${common[@]}" -o "$name.shared" -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -lgc -lpthread -ldl
    gcc "${common[@]}" -o "$name.static" "$prefix/lib/libgc.a" -lpthread -ldl
    strip -o "$name.stripped" "$name.static"
    programs+=("$name.shared" "$name.static" "$name.stripped")
  done
  failed=0
  export "HEAPATTACH_${rules^^}=$(IFS=:; echo "${programs[*]}")"
  "$build/integration/heapattach_integration" -sf="*/${tests}*_test*" >"$work/output" 2>&1 ||
    failed=$?
  grep "^figure: ${rules//_/ }" "$work/output" | sed "s|$work/||; s|^figure: ||"
  [ "$failed" = 0 ] || { grep -v '^figure: ' "$work/output" >&2; result=$failed; }
done
exit "$result"
