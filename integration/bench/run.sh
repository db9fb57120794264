#!/usr/bin/env bash
# Measures heapattach against its peers: integration/bench/run.sh [--rounds N] [--no-java]
#
# Builds what it needs under build/bench and prints a table of ratios. Needs about 6 GB of memory, 2 GB of
# disk, and a machine with nothing else to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source integration/packages.sh
install_packages "${build_packages[@]}" binutils gcc libgc-dev python3 "${bench_packages[@]}"

out=$PWD/build/bench
mkdir -p "$out"
cmake -S . -B "$out/heapattach" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
  >"$out/build.log"
ninja -C "$out/heapattach" heapattach >>"$out/build.log" || { tail -n 50 "$out/build.log"; exit 1; }
gcc -O2 -Wall -Wextra -o "$out/big_heap" integration/bench/big_heap.c -lgc -pthread
gcc -g -O2 -Wall -Wextra -o "$out/big_heap_typed" integration/bench/big_heap.c -lgc -pthread
gcc -O2 -Wall -Wextra -o "$out/bare_copy" integration/bench/bare_copy.c
if [[ ! -x $out/many_types ]]; then  # takes a minute
  python3 integration/bench/many_types.py "$out/types" 4 20
  printf '%s\n' "$out"/types/*.cpp | xargs -P "$(nproc)" -I{} g++ -g -c {} -o {}.o
  units=()
  for _ in {1..17}; do units+=("$out"/types/unit_*.o); done  # as often as 100 MB take
  g++ -o "$out/many_types" "$out/types/main.cpp.o" "${units[@]}" -lgc
fi
[[ " $* " == *" --no-java "* ]] || javac -d "$out" integration/bench/BigHeap.java
exec python3 integration/bench/bench.py --build "$out" \
  --heapattach "$(find "$out/heapattach" -type f -name heapattach -perm -u+x | head -n 1)" "$@"
