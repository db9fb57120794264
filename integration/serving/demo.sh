#!/usr/bin/env bash
# From a leak to its type, with Prometheus: integration/serving/demo.sh [DIRECTORY WITH A BUILD]
#
# Starts three services, of which one leaks, heapattach serve and heapattach watch --when, and a
# Prometheus that scrapes and has a rule. Ends when the alert fires and a snapshot is there: prints the
# alert, the file, and what the file says.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source integration/packages.sh
build=${1:-}
if [[ -z $build ]]; then
  build=build/demo
  install_packages "${build_packages[@]}" libgc-dev doctest-dev prometheus jq curl
  build "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -- heapattach target_grows target_still
fi
tool=$(realpath "$build/report/heapattach") targets=$(realpath "$build/integration")
command -v prometheus jq curl >/dev/null || { echo "demo.sh: needs prometheus, jq and curl" >&2; exit 1; }

work=$(mktemp -d)
started=()
end() {
  kill "${started[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT

# Three services under names of their own. The second one adds a session again and again.
name=demo$$
cp "$targets/target_still" "$work/$name-1"
cp "$targets/target_grows" "$work/$name-2"
cp "$targets/target_still" "$work/$name-3"
for number in 1 3; do
  sleep 300 | "$work/$name-$number" 5000 >/dev/null & started+=($!)
done
{ echo; sleep 300; } | "$work/$name-2" 500 >/dev/null & started+=($!)

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port) web=$(free_port)
"$tool" serve --listen "127.0.0.1:$port" --top 10 --pause-budget 5000 --name "$name-*" & started+=($!)
"$tool" watch --when 'growth(rss) > 4M' --keep 2 -o "$work/dumps" --name "$name-*" & started+=($!)

cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 5s, scrape_timeout: 5s, evaluation_interval: 5s}
scrape_configs:
  - job_name: heapattach
    static_configs: [{targets: ["localhost:$port"]}]
rule_files: [leak.yml]
END
cat >"$work/leak.yml" <<'END'
groups:
  - name: demo
    rules:
      - alert: Leak
        expr: deriv(heapattach_type_bytes{reachable="true"}[60s]) > 100000 and
          on (pid) count_over_time(heapattach_live_bytes[60s]) >= 5
        annotations:
          summary: "{{ $labels.type }} in process {{ $labels.pid }} grows by {{ $value | humanize1024 }}B per second"
END
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" \
  --web.listen-address="127.0.0.1:$web" >"$work/prometheus.log" 2>&1 & started+=($!)

for ((second = 0; second < 180; ++second)); do
  sleep 1
  alert=$(curl -s "http://127.0.0.1:$web/api/v1/alerts" |
    jq -r '.data.alerts[] | select(.state == "firing") | .annotations.summary' 2>/dev/null | head -n 1) || true
  file=$(find "$work/dumps" -name '*.jsonl.gz' 2>/dev/null | head -n 1)
  [[ -z $alert || -z $file ]] || break
done
[[ -n $alert && -n $file ]] || { echo "demo.sh: no alert or no snapshot after three minutes" >&2; exit 1; }
echo
echo "alert: $alert"
echo "file:  ${file##*/}"
"$tool" -q count --top 3 "$file"
