#!/usr/bin/env bash
# What --trace costs a loop that only allocates, and how long it stops it: integration/bench/trace.sh
# [--seconds N] [--program-under-test HEAPATTACH]. With --malloc, a loop that allocates with malloc,
# compared with heaptrack. With --service [--rounds N] [--round SECONDS], what
# it costs a Crystal HTTP service under load.
#
# Builds what it needs under build/bench. Needs a machine with nothing else to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source integration/packages.sh

out=$PWD/build/bench heapattach='' with_service='' with_malloc='' arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --program-under-test) heapattach=$2; shift ;;
    --service) with_service=yes ;;
    --malloc) with_malloc=yes ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
mkdir -p "$out"
if [[ -z $heapattach ]]; then
  install_packages "${build_packages[@]}" gcc libgc-dev python3
  build "$out/heapattach" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
    -- heapattach >"$out/build.log" || { tail -n 50 "$out/build.log"; exit 1; }
  heapattach=$out/heapattach/report/heapattach
fi
if [[ -n $with_service ]]; then
  install_packages crystal wrk python3
  crystal build --release -o "$out/trace_service" integration/targets/web.cr
  exec python3 integration/bench/trace_service.py --program "$out/trace_service" \
    --heapattach "$heapattach" "${arguments[@]}"
fi
if [[ -n $with_malloc ]]; then
  install_packages heaptrack
  gcc -g -O2 -Wall -Wextra -DWITH_MALLOC -o "$out/trace_loop" integration/bench/trace_loop.c -pthread
  exec python3 integration/bench/trace.py --program "$out/trace_loop" --heapattach "$heapattach" \
    --heaptrack /usr/lib/heaptrack/libheaptrack_preload.so "${arguments[@]}"
fi
gcc -g -O2 -Wall -Wextra -o "$out/trace_loop" integration/bench/trace_loop.c -lgc -pthread
python3 integration/bench/trace.py --program "$out/trace_loop" --heapattach "$heapattach" "${arguments[@]}"
