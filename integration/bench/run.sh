#!/usr/bin/env bash
# Measures heapattach against its peers:
#   integration/bench/run.sh [--rounds N] [--no-java] [--program PROGRAM | --quick PROGRAM]
#
# Builds what it needs under build/bench and prints a table of ratios, in under ten minutes. Needs about
# 6 GB of memory, 2 GB of disk, and a machine with nothing else to do. With --quick it takes seconds: the
# program named, small heaps, one round and no Java virtual machine, so that check.sh sees that every
# measurement still works. Its figures mean nothing, and no limit applies to them. --program
# measures a heapattach that is already built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source integration/packages.sh

out=$PWD/build/bench units=4 structs=20 copies=17 quick=false  # 113 MB of debug information
arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) heapattach=$2 out=$PWD/build/bench-quick units=1 structs=1 copies=1 quick=true; shift ;;
    --program) heapattach=$2; shift ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
mkdir -p "$out"
bench=(python3 integration/bench/bench.py --build "$out" "${arguments[@]}")
if $quick; then
  bench+=(--quick --no-java --rounds 1)
else
  install_packages "${build_packages[@]}" "${crystal_packages[@]}" binutils gcc python3 "${bench_packages[@]}"
  if [[ -z ${heapattach:-} ]]; then
    build "$out/heapattach" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
      -- heapattach >"$out/build.log" || { tail -n 50 "$out/build.log"; exit 1; }
    heapattach=$out/heapattach/report/heapattach
  fi
  [[ " ${arguments[*]} " == *" --no-java "* ]] || javac -d "$out" integration/bench/BigHeap.java
fi
gcc -O2 -Wall -Wextra -o "$out/big_heap" integration/bench/big_heap.c -lgc -pthread
gcc -g -O2 -Wall -Wextra -o "$out/big_heap_typed" integration/bench/big_heap.c -lgc -pthread
gcc -g -O2 -Wall -Wextra -o "$out/shapes" integration/bench/shapes.c -lgc -pthread
[[ $out/shapes_crystal -nt integration/bench/shapes.cr ]] ||
  crystal build -o "$out/shapes_crystal" integration/bench/shapes.cr
gcc -O2 -Wall -Wextra -o "$out/bare_copy" integration/bench/bare_copy.c
if [[ ! $out/many_types -nt integration/bench/run.sh ]]; then  # takes a minute
  python3 integration/bench/many_types.py "$out/types" "$units" "$structs"
  printf '%s\n' "$out"/types/*.cpp | xargs -P "$(nproc)" -I{} g++ -g -c {} -o {}.o
  objects=()
  for ((i = 0; i < copies; ++i)); do objects+=("$out"/types/unit_*.o); done
  g++ -o "$out/many_types" "$out/types/main.cpp.o" "${objects[@]}" -lgc
  if $quick; then head -c 17000000 /dev/urandom >>"$out/many_types"; fi  # else its types are not kept
fi
exec "${bench[@]}" --heapattach "$heapattach"
