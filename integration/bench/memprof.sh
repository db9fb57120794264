#!/usr/bin/env bash
# Compares --sizes with MemProf's log_object_sizes: integration/bench/memprof.sh PERF_TOOLS [COUNT...]
#
# PERF_TOOLS is a checkout of crystal-lang/perf-tools that the installed Crystal compiles. One program
# with COUNT objects in lists is built twice, with MemProf in it and without. The one reports how long
# MemProf took inside it, the other is read from outside. Prints a table.
set -euo pipefail
[[ $# -gt 0 ]] || { sed -n '2,6s/^# \?//p' "$0" >&2; exit 2; }
perf_tools=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source integration/packages.sh
install_packages "${build_packages[@]}" "${crystal_packages[@]}" python3
out=$PWD/build/bench
mkdir -p "$out"
cmake -S . -B "$out/heapattach" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
  >"$out/build.log"
ninja -C "$out/heapattach" heapattach >>"$out/build.log" || { tail -n 50 "$out/build.log"; exit 1; }
crystal build --release -o "$out/growing" integration/bench/growing.cr
CRYSTAL_PATH=$perf_tools/src:$(crystal env CRYSTAL_PATH) \
  crystal build --release -Dmemprof -o "$out/growing_memprof" integration/bench/growing.cr
exec python3 integration/bench/memprof.py "$(find "$out/heapattach" -type f -name heapattach -perm -u+x | head -n 1)" \
  "$out/growing" "$out/growing_memprof" "${@:-1000 10000 100000 300000}"
