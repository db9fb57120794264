#!/usr/bin/env bash
# Runs every check in one command: integration/check.sh [--long]
#
# On a fresh Debian 12 or 13 (as root, or with sudo) it first installs what is missing. It stops at the
# first stage that fails and exits with 1; each stage has a log in build/check. It writes only to
# this directory and to temporary files, except through apt. Where clang-format and clang-tidy 14 are
# missing, as in Debian 13, it says so and leaves them out. --long runs the long forms of the tests, the
# unit tests without sanitizers too, the fuzzers for ten minutes, clang-tidy over every source, a build for
# aarch64 whose tests run in an emulated machine (arm64.sh), and, as root, the tests on each supported release
# of Debian (distributions.sh). The last line is
# "N passed, N failed", with ", N skipped" if tests could not run here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

long=0
for argument in "$@"; do
  case $argument in
    --long) long=1 ;;
    *) echo "usage: integration/check.sh [--long]" >&2; exit 2 ;;
  esac
done
[[ $long == 0 ]] || export HEAPATTACH_LONG=1

source integration/packages.sh
source integration/expected_counts

readonly top=$PWD out=$PWD/build/check jobs=$(nproc)
readonly release=$out/release sanitized=$out/sanitized
source integration/stages.sh
rm -rf "$out"/*.skips "$out/staging"
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1  # another checkout may use objects that this one compiled
fi

our_files() {  # our_files EXTENSION...: separated by NUL
  local extension
  for extension in "$@"; do
    find attach inject symbols report tests integration -name "*.$extension" -print0 2>/dev/null ||
      true  # a missing room
  done | sort -z
}

check_format() { our_files h cpp c | xargs -0 clang-format-14 --dry-run --Werror; }

check_rooms() { cmake -P tests/rooms.cmake; }

check_messages() { python3 tests/messages.py .; }

check_tidy_list() {
  local count
  count=$(clang-tidy-14 --list-checks | wc -l)
  [[ $count == "$tidy_checks" ]] || {
    echo ".clang-tidy enables $count checks (counted with the heading), expected_counts says $tidy_checks"
    return 1
  }
}

# lint_stage TOOL NAME COMMAND...: a stage that needs the tool.
lint_stage() {
  local tool=$1
  shift
  if command -v "$tool" >/dev/null; then stage "$@"; else printf '%-44sleft out: no %s here\n' "$1" "$tool"; fi
}

# Runs clang-tidy on every source that the build compiles by itself, one process per core; prints only
# findings. Leaves out generated sources, and targets, which do on purpose what no program should.
check_tidy() {
  python3 -c '
import json, sys
files = {entry["file"] for entry in json.load(open(sys.argv[1] + "/compile_commands.json"))}
ours = sorted(f for f in files if f.endswith(".cpp") and not f.startswith(sys.argv[1])
              and "/integration/targets/" not in f)
sys.stdout.write("".join(f + "\0" for f in ours))
' "$release" >"$out/tidy-files"
  [[ -s $out/tidy-files ]]
  xargs -0 -n 1 -P "$jobs" clang-tidy-14 -p "$release" --quiet --warnings-as-errors='*' \
    <"$out/tidy-files" 2>&1 | { grep -v ' warnings\? generated\.$' || true; }
}

# For the fuzzers as well, hence by clang. Without the Crystal services, which none of the sanitized
# stages looks at. Names and lines are all that a report needs of debug information.
build_sanitized() {
  build "$sanitized" -DHEAPATTACH_WERROR=ON "${launcher[@]}" \
    -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g1 \
    -DHEAPATTACH_SANITIZE=address,undefined -DHEAPATTACH_FAULT_POINTS=ON -DHEAPATTACH_FUZZ=ON \
    -DHEAPATTACH_LIGHT_CHECKS=$light_checks -DCRYSTAL= -- heapattach_tests heapattach_faults heapattach_fuzzers
}

# Runs it in the background, at the lowest priority, until end_sanitized_build.
begin_sanitized_build() {
  rm -f "$out/sanitized-status"
  set -m  # a process group of its own, so that all of it can be ended
  (
    set +e
    renice -n 19 -p "$BASHPID"
    (set -e; build_sanitized)
    echo $? >"$out/sanitized-status"
  ) >"$out/sanitized-build.log" 2>&1 </dev/null &
  sanitized_build=$!
  set +m
  trap 'kill -- "-$sanitized_build" 2>/dev/null || true' EXIT
}

# The rest of it need not be nice. Prints its output, which then is this stage's.
end_sanitized_build() {
  renice -n 0 -g "$sanitized_build" || true
  tail --pid "$sanitized_build" -f /dev/null
  cat "$out/sanitized-build.log"
  return "$(cat "$out/sanitized-status")"
}

# Fuzzes the readers of foreign bytes, for half a minute together, or ten each. The short form always
# starts from the same seed, so that a change is not blamed for an old fault.
check_fuzz() {
  local options=(-seed=1) seconds=20
  if [[ $long == 1 ]]; then options=() seconds=600; fi
  tests/fuzz/run.sh "$sanitized" "$out/fuzz" "$seconds" "${options[@]}"
}

# install_and_remove DEB: uses this machine's packages for its dependencies, but a directory of its
# own.
install_and_remove() {
  local root=$out/packages/root options
  options=(--root="$root" --force-script-chrootless --log=/dev/null)
  mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
  cp /var/lib/dpkg/status "$root/var/lib/dpkg/status"
  fakeroot dpkg "${options[@]}" --install "$1"
  test -x "$root/usr/bin/heapattach"
  fakeroot dpkg "${options[@]}" --purge heapattach
  [[ -z $(find "$root" -type f ! -path '*/var/*') ]]
}

# Packs twice, compares the bytes, and checks that everything a user needs is included.
check_packages() {
  local package=$out/packages/deb deb
  rm -rf "$out/packages" "$out/packages-again"
  SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l report/cli/install/changelog -S Timestamp)
  export SOURCE_DATE_EPOCH
  for packages in packages-again packages; do (cd "$release" && cpack -B "$out/$packages"); done
  deb=$(ls "$out"/packages/*.deb)
  cmp "$deb" "$out"/packages-again/*.deb
  dpkg-deb --info "$deb" | tee "$out/deb-info"
  grep -q '^ Depends: .*libdw1.*libelf1' "$out/deb-info"
  lintian --allow-root --fail-on error "$deb"
  install_and_remove "$deb"
  dpkg-deb --extract "$deb" "$package"
  tar -tzf "$out"/packages/*.tar.gz >"$out/tar-list"
  for file in bin/heapattach bin/heapattach-watchdog share/man/man1/heapattach-watchdog.1.gz \
    share/doc/heapattach/README.md share/doc/heapattach/changelog.gz; do
    test -s "$package/usr/$file"
    grep -q "/$file\$" "$out/tar-list"
  done
}

# run_installed PROGRAM: attaches to a target that knows its heap, which must live on unchanged.
run_installed() {
  local program=$1 line pid status=0
  coproc target { exec "$release/integration/target_still" 5000; }
  pid=$target_PID
  read -r -t 20 line <&"${target[0]}"
  [[ $line == ready* ]]
  "$program" --version
  "$program" --count -f json "$pid" | tee "$out/count.json" || status=$?
  jq -e '.objects >= 5000 and .bytes + .unreachable_bytes + .free_bytes == .heap_bytes' \
    "$out/count.json"
  "$program" -o "$out/heap.jsonl" --force "$pid"
  jq -e -s '.[0].record == "snapshot" and .[-1].complete and .[-1].objects >= 5000' \
    "$out/heap.jsonl"
  echo sum >&"${target[1]}"
  read -r -t 20 line <&"${target[0]}"
  kill "$pid"
  [[ $line == "sum=12497500 "* && $status == 0 ]]
}

# What this machine lacks, as the tests put it. What a test lacks besides is a skip too many.
list_excuses() {
  local status=0
  "$release/integration/target_plain32" </dev/null >/dev/null 2>&1 || status=$?
  [[ $status != 126 ]] || echo "no 32-bit programs"
  python3 integration/reading_takes_memory.py || echo "reading takes memory"
  [[ $(cat /proc/2/comm 2>/dev/null) == kthreadd ]] || echo "no kernel thread is visible"
  [[ -w /sys/fs/cgroup/freezer ]] || echo "no freezer of control groups version 1"
  [[ -w /sys/fs/cgroup/cgroup.procs || -w /sys/fs/cgroup/unified/cgroup.procs ]] ||
    echo "no freezer of control groups version 2"
  [[ $(awk '/^SwapFree/ { print $2 }' /proc/meminfo) -ge 262144 ]] || echo "no swap space"
  { zcat /proc/config.gz || cat "/boot/config-$(uname -r)"; } 2>/dev/null |
    grep '^CONFIG_ANON_VMA_NAME=y' >/dev/null || echo "no names for anonymous memory"
  [[ -w /proc/sys/vm/nr_hugepages ]] || echo "no huge pages"
  [[ $(id -u) -eq 0 ]] || printf '%s\n' "needs root" "only root"
  [[ $(cat /proc/sys/kernel/core_pattern) != *[\|%/]* ]] ||
    echo "no plain file name in core_pattern"
  unshare --pid --fork --mount --mount-proc true 2>/dev/null ||
    printf '%s\n' "no rights to" "unshare --pid does not work"
}

# The number of skips that the machine does not explain must match the record.
check_skips() {
  local unexplained
  list_excuses >"$out/excuses"
  cat "$out"/*.log.skips | { grep -v -F -f "$out/excuses" || true; } >"$out/unexplained"
  unexplained=$(wc -l <"$out/unexplained")
  [[ $unexplained == "$skipped_on_full_machine" ]] || {
    echo "$unexplained tests were skipped without need, expected_counts says $skipped_on_full_machine:"
    cat "$out/unexplained"
    return 1
  }
}

# Packages that only npm has, installed once: a driver for Chromium, and with --long DevTools' heap
# engine.
install_consumers() {
  local packages=("${consumer_npm_packages[@]}") done
  [[ $long == 0 ]] || packages+=("${long_consumer_npm_packages[@]}")
  done=$HEAPATTACH_NPM/installed
  [[ $(cat "$done" 2>/dev/null) != "${packages[*]}" ]] || return 0
  command -v npm >/dev/null || install_packages npm
  npm install --prefix "$HEAPATTACH_NPM" --no-audit --no-fund --ignore-scripts "${packages[@]}"
  echo "${packages[*]}" >"$done"
}

# On today's packages of every supported release of Debian. It prints its own stages.
check_distributions() {
  integration/distributions.sh --fresh || exit 1
  read -r now_passed now_failed now_skipped <build/distributions/counts
  passed=$((passed + now_passed)) failed=$((failed + now_failed)) skipped=$((skipped + now_skipped))
}

install_packages "${build_packages[@]}" "${crystal_packages[@]}" "${test_packages[@]}" \
  "${consumer_packages[@]}" "${package_packages[@]}"
for name in "${lint_packages[@]}"; do ! in_archive "$name" || install_packages "$name"; done
[[ $long == 0 ]] || install_packages "${long_consumer_packages[@]}"
export HEAPATTACH_NPM=$out/npm
stage "readers of exports" install_consumers

lint_stage clang-format-14 "format" check_format
stage "rooms" check_rooms
stage "messages" check_messages
lint_stage clang-tidy-14 "list of lint checks" check_tidy_list
# The unit tests are built and run with sanitizers, below; with --long also as they are released.
# Each source is compiled by itself only with --long: that shows a forgotten include. The short form also
# optimises less, leaves out the sanitizers' slowest checks, and has a process for many unit tests.
sanitized_tests=group in_units=1 light_checks=ON optimised=(-DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g -DNDEBUG")
parts=(heapattach heapattach_man heapattach_completions heapattach_integration)
export HEAPATTACH_UNIT_LINES=7000
[[ $long == 0 ]] || sanitized_tests=unit in_units=0 light_checks=OFF optimised=() parts=(all heapattach_long_targets)
stage "build" build "$release" -DHEAPATTACH_WERROR=ON "${launcher[@]}" \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo "${optimised[@]}" -- "${parts[@]}"
[[ $long == 0 ]] || ctest_stage "unit tests" "$release" -L unit -j "$jobs"
# Other work on the machine may delay the processes of a live test for seconds. In the short form, a
# test that fails runs a second time, and is then named.
again=(--repeat until-pass:2)
[[ $long == 0 ]] || again=()
# Live tests mostly wait. What they leave of the processors builds the rest. Their long forms fill the
# processors by themselves.
at_once=(-j $((2 * jobs)))
[[ $long == 0 ]] || at_once=()
begin_sanitized_build
ctest_stage "live tests" "$release" -L integration "${at_once[@]}" "${again[@]}"
stage "build with address and undefined sanitizers" end_sanitized_build
stage "benchmarks, quick form" integration/bench/run.sh --quick "$release/report/heapattach"
# Leaks cannot be looked for while we are traced ourselves, as in some containers.
ASAN_OPTIONS=detect_leaks=0 ctest_stage "unit tests and failing system calls, sanitized" \
  "$sanitized" -L "$sanitized_tests|faults" -j "$jobs"
stage "fuzz" check_fuzz
cat "$out/fuzz.log"
stage "install" cmake --install "$release" --prefix "$out/staging"
stage "packages" check_packages
stage "the installed program on a live target" run_installed "$out/staging/bin/heapattach"
stage "the packed program on a live target" run_installed "$out/packages/deb/usr/bin/heapattach"
if [[ $long == 1 ]]; then
  stage "static archive, in an empty root" integration/release.sh
  stage "aarch64, in an emulated machine" integration/arm64.sh
  lint_stage clang-tidy-14 "clang-tidy" check_tidy
  if [[ $(id -u) -eq 0 ]]; then check_distributions; else echo "releases of Debian: left out, needs root"; fi
fi
stage "count of skipped tests" check_skips
closing_line
