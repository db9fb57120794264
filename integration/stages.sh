# Sourced by check.sh and distributions.sh, which set `out`, the directory of the logs; and `shown`, where
# a reader of the messages finds it, if that is elsewhere.

passed=0 failed=0 skipped=0
mkdir -p "$out"

# stage NAME COMMAND...: runs it with its output in a log; shows the log's end and stops if it fails.
stage() {
  local name=$1 log start=$SECONDS status=0
  shift
  log=$out/${name//[^a-zA-Z0-9]/-}.log
  printf '%-44s' "$name"
  # A separate shell, so that "set -e" applies inside although we check the status.
  set +e
  (set -e; "$@") >"$log" 2>&1 </dev/null
  status=$?
  set -e
  if [[ $status -ne 0 ]]; then
    echo "FAILED after $((SECONDS - start)) s"
    tail -n 100 "$log"
    echo "$0: stage '$name' failed with status $status; its log is $(shown_path "$log")" >&2
    exit 1
  fi
  echo "ok $((SECONDS - start)) s"
  ! grep -m 1 '^warning: could not compile many' "$log" || true
}

# ctest_stage NAME BUILD_DIR CTEST_ARGUMENT...: the same for tests, which are counted.
ctest_stage() {
  local name=$1 build=$2 start=$SECONDS report log status=0 counts
  shift 2
  log=$out/${name//[^a-zA-Z0-9]/-}.log
  report=${log%.log}.xml
  rm -f "$report"
  printf '%-44s' "$name"
  (cd "$build" && ctest --output-on-failure --no-tests=error --output-junit "$report" \
    --test-output-size-passed 1000000 "$@") >"$log" 2>&1 </dev/null || status=$?
  counts=$(python3 integration/count_tests.py "$report" "$log.skips") || {
    echo FAILED; tail -n 50 "$log"
    echo "$0: stage '$name' left no report; its log is $(shown_path "$log")" >&2
    exit 1
  }
  read -r now_passed now_failed now_skipped <<<"$counts"
  passed=$((passed + now_passed)) failed=$((failed + now_failed)) skipped=$((skipped + now_skipped))
  if [[ $status -ne 0 || $now_failed -ne 0 ]]; then
    echo "FAILED after $((SECONDS - start)) s"
    tail -n 200 "$log"
    echo "$0: stage '$name' failed; its log is $(shown_path "$log")" >&2
    [[ $failed -eq 0 ]] || closing_line
    exit 1
  fi
  echo "ok $((SECONDS - start)) s, $now_passed passed"
  cat "$log.skips"
  second_runs "$log"
}

shown_path() { echo "${shown-$out}${1#"$out"}"; }

# Lists the tests that failed and then passed, if ctest was told to repeat.
second_runs() {
  local number
  sed -n 's/^.*Test *#\([0-9]*\): .*\*\*\*.*$/\1/p' "$1" | sort -un | while read -r number; do
    sed -n "s/^.*Test *#$number: \(.*[^. ]\) \.\.* *Passed.*$/  passed at the second run only: \1/p" "$1"
  done
}

closing_line() {
  local line="$passed passed, $failed failed"
  [[ $skipped == 0 ]] || line+=", $skipped skipped"
  echo "$line"
}
