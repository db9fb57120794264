#!/usr/bin/env bash
# Measures heapattach leaks beside LeakSanitizer's own check, on the same program, in turns:
#   integration/bench/leaks.sh [--rounds N] [--program PROGRAM] [OBJECTS...]
#
# Prints, for each number of objects (100,000, 1 and 10 million), the medians in milliseconds of:
# LeakSanitizer's check, from its call to its end, without symbols; heapattach's pause; and the rest of
# its whole run, most of which comes after the pause. Both must find all that is leaked, or the script fails. --program
# measures a heapattach that is already built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source integration/packages.sh

rounds=5 heapattach='' sizes=() out=$PWD/build/bench
while [[ $# -gt 0 ]]; do
  case $1 in
    --rounds) rounds=$2; shift ;;
    --program) heapattach=$2; shift ;;
    *) sizes+=("$1") ;;
  esac
  shift
done
[[ ${#sizes[@]} -gt 0 ]] || sizes=(100000 1000000 10000000)
mkdir -p "$out"
if [[ -z $heapattach ]]; then
  install_packages "${build_packages[@]}"
  build "$out/heapattach" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
    -- heapattach >"$out/build.log" || { tail -n 50 "$out/build.log"; exit 1; }
  heapattach=$out/heapattach/report/heapattach
fi
g++ -std=c++17 -g -O1 -o "$out/leaky" integration/bench/leaky.cpp
g++ -std=c++17 -g -O1 -fsanitize=leak -DWITH_LSAN -o "$out/leaky_lsan" integration/bench/leaky.cpp
exec python3 integration/bench/leaks.py "$out" "$heapattach" "$rounds" "${sizes[@]}"
