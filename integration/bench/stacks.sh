#!/usr/bin/env bash
# How long a program is stopped while its stacks are taken, compared with gdb and eu-stack, and how
# long 100,000 fibers take: integration/bench/stacks.sh [--rounds N] [--threads N] [--fibers N]
#
# Needs root: so many fibers need more mappings than a process may have; this raises the limit while
# it runs.
# Builds what it needs under build/bench. Needs a machine with nothing else to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source integration/packages.sh
install_packages "${build_packages[@]}" gcc gdb elfutils python3 "${crystal_packages[@]}"

out=$PWD/build/bench
mkdir -p "$out"
cmake -S . -B "$out/heapattach" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
  >"$out/build.log"
ninja -C "$out/heapattach" heapattach >>"$out/build.log" || { tail -n 50 "$out/build.log"; exit 1; }
if [[ ! -x $out/ticking_threads ]]; then  # takes a minute
  python3 integration/bench/many_types.py "$out/types" 4 20
  printf '%s\n' "$out"/types/unit_*.cpp | xargs -P "$(nproc)" -I{} g++ -g -c {} -o {}.o
  gcc -g -O1 -Wall -Wextra -c -o "$out/ticking_threads.o" integration/bench/ticking_threads.c
  units=()
  for _ in {1..17}; do units+=("$out"/types/unit_*.o); done  # as often as 100 MB take
  g++ -o "$out/ticking_threads" "$out/ticking_threads.o" "${units[@]}" -pthread
fi
[[ -x $out/hanging ]] || crystal build -o "$out/hanging" integration/targets/hanging.cr
before=$(sysctl -n vm.max_map_count)
trap 'sysctl -q -w vm.max_map_count="$before"' EXIT
sysctl -q -w vm.max_map_count=500000
python3 integration/bench/stacks.py --program "$out/ticking_threads" --hanging "$out/hanging" \
  --heapattach "$(find "$out/heapattach" -type f -name heapattach -perm -u+x | head -n 1)" "$@"
