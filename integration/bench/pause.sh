#!/usr/bin/env bash
# How long a snapshot stops a service: integration/bench/pause.sh [--huge] [--rounds N] [--megabytes N...]
#
# Builds what it needs under build/bench. Needs three times the memory of the largest heap, as much room on disk,
# and a machine with nothing else to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source integration/packages.sh
install_packages "${build_packages[@]}" gcc gdb libgc-dev python3 "${bench_packages[@]}"

out=$PWD/build/bench
mkdir -p "$out"
cmake -S . -B "$out/heapattach" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
  >"$out/build.log"
ninja -C "$out/heapattach" heapattach >>"$out/build.log" || { tail -n 50 "$out/build.log"; exit 1; }
gcc -O2 -Wall -Wextra -o "$out/ticking_heap" integration/bench/ticking_heap.c -lgc -pthread
javac -d "$out" integration/bench/TickingHeap.java
exec python3 integration/bench/pause.py --service "$out/ticking_heap" \
  --heapattach "$(find "$out/heapattach" -type f -name heapattach -perm -u+x | head -n 1)" "$@"
