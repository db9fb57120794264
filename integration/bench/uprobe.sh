#!/usr/bin/env bash
# What a uprobe costs the loop of trace.sh, as perf and bpftrace use them, beside --trace:
# integration/bench/uprobe.sh HEAPATTACH [SECONDS]. Needs root, perf and CONFIG_UPROBE_EVENTS.
set -euo pipefail
[[ -n ${IN_NAMESPACE:-} ]] || IN_NAMESPACE=1 exec unshare -m --propagation private bash "$0" "$@"
heapattach=$(realpath "$1") seconds=${2:-3}
cd "$(dirname "${BASH_SOURCE[0]}")"
mount -t tracefs none /sys/kernel/tracing
files=$(mktemp -d)
trap 'echo >/sys/kernel/tracing/uprobe_events; rm -r "$files"' EXIT
gcc -g -O2 -o "$files/loop" trace_loop.c -lgc -pthread
library=$(realpath "$(ldd "$files/loop" | awk '/libgc/ {print $3}')")
address=$(nm -D "$library" | awk '$3 == "GC_malloc_kind" {print $1}')
echo "p:heapattach/allocation $library:0x$address" >/sys/kernel/tracing/uprobe_events

# measure NAME COMMAND...: runs the command with --for or "sleep", and the loop's pid
measure() {
  local name=$1 pid
  shift
  "$files/loop" $((seconds + 3)) >"$files/times" &
  pid=$!
  sleep 1
  "${@//PID/$pid}" >/dev/null 2>"$files/errors" || true  # a busy machine may lose samples
  wait "$pid"
  grep '^heapattach' "$files/errors" >&2 || true
  awk -v name="$name" 'NR == 2 {printf "| %s | %.1f | %.1f | %.2f |\n", name, $1, $2, $2 / $1}' "$files/times"
}

echo "| how | ns without | with | ratio |"
echo "|---|---|---|---|"
for every in 512k 64k 1; do
  measure "trace --every $every" "$heapattach" -q trace --every "$every" --for "${seconds}s" -f json PID
done
probe=(-e heapattach:allocation -p PID)
measure "uprobe, counted" perf stat "${probe[@]}" -- sleep "$seconds"
measure "uprobe, stacks by frame pointers" perf record -q -g "${probe[@]}" -o /dev/null -- sleep "$seconds"
measure "uprobe, 8 KiB of stack" perf record -q --call-graph dwarf,8192 "${probe[@]}" -o /dev/null -- sleep "$seconds"
