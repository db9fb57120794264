#!/usr/bin/env bash
# Shows heapattach at work, in one command: integration/try.sh
#
# Installs what is missing (Debian 12 or 13, as root or with sudo), builds heapattach and a small Crystal
# service that leaks sessions, starts that service, and inspects it. Everything is under build/try;
# the service is stopped at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source integration/packages.sh
install_packages "${build_packages[@]}" "${crystal_packages[@]}"

out=$PWD/build/try
mkdir -p "$out"
echo "building heapattach and the service (the log is build/try/build.log)"
build_all() {
  build "$out/heapattach" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
    -DBUILD_TESTING=OFF -- heapattach &&
  CRYSTAL_CACHE_DIR=$out/crystal-cache crystal build --debug --no-color -o "$out/demo" \
    integration/targets/demo.cr
}
build_all >"$out/build.log" 2>&1 || { tail -n 50 "$out/build.log" >&2; exit 1; }
heapattach=$(find "$out/heapattach" -type f -name heapattach -perm -u+x | head -n 1)

coproc service { exec "$out/demo" 2>&1; }
pid=$service_PID
trap 'kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true' EXIT
read -r -t 30 line <&"${service[0]}" && [[ $line == ready ]] || {
  echo "try.sh: the service did not start: ${line:-no answer}" >&2
  exit 1
}

# show COMMAND ARGUMENT...: prints it as a user would type it, then runs it.
show() {
  printf '\n$ %s' "$1"
  printf " %s" "${@:2}" | sed "s/ \([^ ]*[*][^ ]*\)/ '\1'/g"
  printf '\n'
  "$heapattach" "${@:2}"
}

# The service is not heapattach's child: Yama may ask for root here.
show heapattach --count --top 8 "$pid" || {
  status=$?
  [[ $status -ne 4 ]] || echo "try it as root: sudo integration/try.sh" >&2
  exit "$status"
}
show heapattach --sizes --top 6 --by holder "$pid"
show heapattach --suspects "$pid"
show heapattach --why Shop::Session --paths 1 "$pid"

printf '\n$ heapattach -o heap.jsonl %s\n' "$pid"
rm -f "$out/heap.jsonl"
"$heapattach" -o "$out/heap.jsonl" "$pid"
printf '\n$ head -n 1 heap.jsonl\n'
head -n 1 "$out/heap.jsonl"
printf '\n$ grep Shop::Session heap.jsonl | tail -n 2\n'
grep '"record":"object".*"Shop::Session"' "$out/heap.jsonl" | tail -n 2
printf '\n$ tail -n 1 heap.jsonl\n'
tail -n 1 "$out/heap.jsonl"
kill -0 "$pid" && printf '\nThe service (pid %s) has noticed nothing and is still running; stopping it now.\n' "$pid"
