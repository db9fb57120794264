#!/usr/bin/env bash
# Compares heapattach's counts and leaks with what a program with musl counted itself, for other releases
# of musl and each malloc that they have: HEAPATTACH=… integration/musl.sh DIR [-n OBJECTS] SOURCE...
#
# Each SOURCE is an unpacked release of musl; it is built in DIR, statically. Fails at the first difference. The
# older malloc leaves addresses in memory that the program then gets, and these may hide a few leaks.
set -euo pipefail
[[ $# -ge 2 && -n ${HEAPATTACH:-} ]] || { sed -n 3p "$0" >&2; exit 2; }
here=$(realpath "$(dirname "$0")") dir=$(realpath -m "$1") objects=20000
shift
if [[ $1 == -n ]]; then objects=$2; shift 2; fi
wrap=-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free

# build SOURCE NAME OPTION...: installs musl in DIR/NAME, if it is not there yet.
build() {
  local source=$1 to=$dir/$2
  shift 2
  [[ ! -x $to/bin/musl-gcc ]] || return 0
  mkdir -p "$to/build"
  (cd "$to/build" && "$source/configure" --prefix="$to" --disable-shared "$@" && make -j2 && make install) \
    >"$to/build.log" 2>&1
}

# number KEY LINE: of a line of "key=number" words.
number() { sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" <<<"$2"; }
# compare WHAT EXPECTED FOUND
compare() {
  local what=$1 expected=$2 found=$3
  if [[ $expected == "$found" ]]; then return 0; fi
  echo "  $what: $found instead of $expected"
  return 1
}

# check NAME
check() {
  local program=$dir/$1/musl_heap truth pid counted leaks leaked found status=0
  "$dir/$1/bin/musl-gcc" -std=gnu11 -O1 -fno-builtin -static "$here/targets/musl_heap.c" -s "$wrap" -o "$program"
  coproc "$program" "$objects"
  pid=$COPROC_PID
  read -r truth <&"${COPROC[0]}"
  counted=$("$HEAPATTACH" -q count --all -f json "$pid")
  leaks=$("$HEAPATTACH" -q leaks -f json "$pid")
  compare objects "$(number in_use "$truth")" "$(jq '[.types[].objects] | add' <<<"$counted")" || status=1
  compare bytes $(($(number bytes "$truth") + $(number zeros "$truth"))) \
    "$(jq '[.types[].bytes] | add' <<<"$counted")" || status=1
  leaked=$(number leaked "$truth") found=$(jq .objects <<<"$leaks")
  if [[ $1 == *-mallocng ]]; then
    compare leaked "$leaked" "$found" || status=1
    compare leaked_bytes "$(number leaked_bytes "$truth")" "$(jq .bytes <<<"$leaks")" || status=1
    compare leaks "$(number leaks "$truth")" "$(jq .leaks <<<"$leaks")" || status=1
  elif ((found > leaked || found < leaked * 9 / 10)); then
    compare leaked "$leaked" "$found" || status=1
  fi
  kill "$pid"
  wait "$pid" 2>/dev/null || true
  [[ $status -ne 0 ]] || echo "  $1: $(number in_use "$truth") objects, the same; $found of $leaked leaks"
  return "$status"
}

for source in "$@"; do
  source=$(realpath "$source")
  name=musl-$(cat "$source/VERSION")
  if grep -q with-malloc "$source/configure"; then
    for malloc in mallocng oldmalloc; do
      build "$source" "$name-$malloc" "--with-malloc=$malloc"
      check "$name-$malloc"
    done
  else
    build "$source" "$name"
    check "$name"
  fi
done
