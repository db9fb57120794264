#!/usr/bin/env bash
# Compares heapattach's counts, leaks, stacks and traces with what programs know that were built as Alpine Linux builds
# them, with musl and libgc: HEAPATTACH=… integration/alpine.sh DIR LIBGC PCRE LIBEVENT [OPENSSL]
#
# LIBGC and the others are unpacked sources, of the releases that the installed Crystal compiler needs; they are built in
# DIR with musl-gcc. With OPENSSL, the Crystal program also forgets certificates. Prints a line for each check that
# fails, and then fails.
set -euo pipefail
[[ $# -ge 4 && -n ${HEAPATTACH:-} ]] || { sed -n 3p "$0" >&2; exit 2; }
targets=$(realpath "$(dirname "$0")")/targets dir=$(realpath -m "$1") failed=0
shift
mkdir -p "$dir/kernel"
# musl has no headers of the kernel.
for name in linux asm-generic; do ln -sfn "/usr/include/$name" "$dir/kernel/$name"; done
ln -sfn "/usr/include/$(uname -m)-linux-gnu/asm" "$dir/kernel/asm"
export CC="musl-gcc -idirafter $dir/kernel"

# make_library SOURCE: installs it in DIR, if that was not done before.
make_library() {
  local source=$1 name
  name=$(basename "$source")
  [[ ! -e $dir/$name.built ]] || return 0
  mkdir -p "$dir/build-$name"
  cd "$dir/build-$name"
  case $name in
    *openssl*)
      "$source/Configure" "linux-$(uname -m)" no-shared no-tests no-engine no-dso no-async no-afalgeng no-legacy \
        --prefix="$dir" --libdir=lib -O1
      make -j2 build_generated libssl.a libcrypto.a
      make install_dev
      ;;
    *)
      local options=(--prefix="$dir" --enable-static --disable-shared)
      case $name in
        *gc*) options=(--prefix="$dir" --enable-static --enable-shared --disable-docs --with-libatomic-ops=none
          --enable-threads=posix --enable-large-config) ;;
        *pcre*) options+=(--enable-jit --disable-cpp --enable-utf --enable-unicode-properties) ;;
        *event*) options+=(--disable-openssl --disable-samples --disable-libevent-regress) ;;
      esac
      CFLAGS="-O2 -fPIC" "$source/configure" "${options[@]}"
      make -j2
      make install
      ;;
  esac
  cd - >/dev/null
  touch "$dir/$name.built"
}

# start COMMAND...: sets `truth` to what it prints first, `pid`, and the descriptor `input`.
start() {
  coproc "$@"
  pid=$COPROC_PID
  # Subshells do not inherit a coprocess's descriptors.
  exec {input}>&"${COPROC[1]}"
  read -r truth <&"${COPROC[0]}"
}
stop() {
  exec {input}>&-
  kill "$pid"
  wait "$pid" 2>/dev/null || true
}
# number KEY: of the words "key=number" in `truth`.
number() { sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" <<<"$truth"; }
# same WHAT EXPECTED FOUND
same() {
  if [[ $2 == "$3" ]]; then return 0; fi
  echo "  $name, $1: $3 instead of $2"
  failed=1
}
# ask ARGUMENT...: runs a report on the process in JSON.
ask() { "$HEAPATTACH" -q "$@" -f json "$pid"; }

# check_both NAME [THREADS]: a C program with both heaps.
check_both() {
  name=$*
  start env LD_LIBRARY_PATH="$dir/lib" "$dir/$@"
  if [[ $# == 1 ]]; then
    local counted
    counted=$(ask count --heap both)
    same "the collector's heap" "$(number gc_heap)" "$(jq '.heaps[0].heap_bytes' <<<"$counted")"
    # The loader of a shared program has allocations of its own.
    if [[ $name != *shared ]]; then
      same objects $(($(number in_use) - $(number leaked))) "$(jq '.heaps[1].objects' <<<"$counted")"
      same bytes $(($(number bytes) - $(number leaked_bytes))) "$(jq '.heaps[1].bytes' <<<"$counted")"
    fi
  fi
  local expected way
  expected="[$(number leaked),$(number leaked_bytes),$(number leaks)]"
  for way in "" "--snapshot clone" "--confirm 50ms"; do
    # shellcheck disable=SC2086
    same "leaks $way" "$expected" "$(ask leaks --heap both $way | jq -c '[.objects,.bytes,.leaks]')"
  done
  stop
  echo "  $name: $truth"
}

# count_of TYPE: of the objects in the count on standard input.
count_of() { jq --arg type "$1" '[.types[] | select(.type == $type) | .objects] | add // 0'; }

# check_service NAME: the Crystal program, stripped, with the unstripped one beside it.
check_service() {
  name=$1
  start "$dir/$name"
  local counted leaks certificates stacks
  certificates=$(number certificates)
  counted=$(ask count --heap both --type-info "$dir/types.txt")
  same Session "$(number sessions)" "$(count_of Session <<<"$counted")"
  same Item "$(number items)" "$(count_of Item <<<"$counted")"
  for way in freeze clone; do
    leaks=$(ask leaks --heap both --snapshot "$way" | jq .leaks)
    same "leaks, $way" $(($(number leaked) + ${certificates:-0})) "$leaks"
  done
  stacks=$("$HEAPATTACH" -q stacks --exe "$dir/$name.symbols" "$pid")
  same "fibers with names" 2 "$(grep -c -E 'fiber "(waiter|sleeper)"' <<<"$stacks")"
  check_traces
  stop
  echo "  $name: $truth"
}

# traced ARGUMENT...: the report of a trace, during which the service does its work again.
traced() {
  (sleep 2 && echo again >&"$input") &
  ask "$@" --exe "$dir/$name.symbols" || [[ $? == 7 ]]
}
check_traces() {
  local made expected leaked
  expected=$((4 * $(number sessions)))
  made=$(traced trace --heap gc --every 256 --for 5s |
    jq '[.rows[] | select(.frames | tostring | test("fill")) | .allocations] | add // 0')
  ((made > expected * 3 / 4)) || same "allocations traced in fill" "about $expected or more" "$made"
  leaked=$(traced leaks --heap both --trace 5s --every 2 |
    jq '[.roots[].allocated_by[]? | select(.frames | tostring | test("forget")) | .samples] | add // 0')
  ((leaked >= $(number leaked))) || same "leaks with their code" "$(number leaked) or more" "$leaked"
}

for source in "$@"; do make_library "$(realpath "$source")" >"$dir/$(basename "$source").log" 2>&1; done
crt=/usr/lib/$(uname -m)-linux-musl/rcrt1.o
pie=("$crt" -fPIE -static-pie -nostdlib -Wl,-static,-pie,--no-dynamic-linker)
unwinder=(-Wl,--start-group -lc -lgcc -lgcc_eh -Wl,--end-group)

both=(-std=gnu11 -O1 -fno-builtin -I"$dir/include" "$targets/musl_both.c"
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free)
$CC "${both[@]}" -o "$dir/both_shared" -L"$dir/lib" -lgc
$CC "${both[@]}" -static -s -o "$dir/both_static" "$dir/lib/libgc.a"
$CC "${both[@]}" "${pie[@]}" -s -o "$dir/both_pie" "$dir/lib/libgc.a" "${unwinder[@]}"
for form in both_shared both_static both_pie; do
  check_both "$form"
  check_both "$form" 4
done

flags=()
[[ ! -e $dir/lib/libssl.a ]] || flags=(-Dcertificates)
cd "$dir"
linking=$(CRYSTAL_DUMP_TYPE_ID=1 crystal build --cross-compile --target "$(uname -m)-linux-musl" --release --debug \
  --static "${flags[@]}" -o alpine "$targets/alpine.cr" | tee types.txt | tail -1)
mapfile -t libraries < <(grep -oE -- '-l[a-z0-9_-]+|-L[^ ]+' <<<"$linking")
$CC -O1 -c "$targets/musl_find_object.c" -o find_object.o
objects=(alpine.o find_object.o -L"$dir/lib" "${libraries[@]}")
$CC -static "${objects[@]}" -o alpine_static.symbols "${unwinder[@]}"
$CC "${pie[@]}" "${objects[@]}" -o alpine_pie.symbols "${unwinder[@]}"
for form in alpine_static alpine_pie; do
  strip -o "$form" "$form.symbols"
  check_service "$form"
done
exit "$failed"
