#!/usr/bin/env bash
# Runs all fuzzers at once: tests/fuzz/run.sh BUILD_DIR OUTPUT_DIR SECONDS [LIBFUZZER_OPTION...]
#
# Starts from fresh seeds. Prints a line for each with the number of inputs, and fails if one of them
# found a fault; the input is then in OUTPUT_DIR/<reader>.found, next to its log.
set -euo pipefail
[[ $# -ge 3 ]] || { sed -n 2p "$0" >&2; exit 2; }
build=$(realpath "$1") out=$2 seconds=$3
shift 3
readers=(code_names core dump dwarf elf evaluator model_bytes proc process_context ruby snapshot split stack_bytes trace type_info)

export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 # being traced forbids looking for leaks
rm -rf "$out"
mkdir -p "$out"
"$build/tests/fuzz/fuzz_seeds" "$build/tests" "$out"
pids=()
for reader in "${readers[@]}"; do
  mkdir -p "$out/$reader.found"
  "$build/tests/fuzz/fuzz_$reader" -max_total_time="$seconds" -max_len=65536 -timeout=20 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$out/$reader.found/" "$@" \
    "$out/$reader" >"$out/$reader.log" 2>&1 </dev/null &
  pids+=($!)
done
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
failed=0
for i in "${!readers[@]}"; do
  reader=${readers[$i]} status=0
  wait "${pids[$i]}" || status=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$reader.log")
  if [[ $status -eq 0 && ${runs:-0} -gt 0 ]]; then
    echo "  $reader: $runs runs"
  else
    echo "  $reader: failed with status $status after ${runs:-no} runs; see $out/$reader.log"
    tail -n 40 "$out/$reader.log"
    failed=1
  fi
done
exit "$failed"
