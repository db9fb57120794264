#!/usr/bin/env bash
# Builds for aarch64, and runs live tests or a command in an emulated machine:
#
#     integration/arm64.sh [--pages 16k] [COMMAND...]
#
# Without a command: the live tests in arm64/live_tests. A command runs as root in this directory, with the
# built heapattach on its PATH. --pages 16k takes the kernel with pages of 16 KiB from Debian's
# backports. It installs what is missing; the compiler, the machine's root and its kernel are downloaded once, into
# build/arm64 (2 GB). The first build takes ten minutes on two quiet cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source integration/packages.sh
pages=
if [[ ${1-} == --pages ]]; then
  case ${2-} in
    4k) ;;
    16k) pages=-16k ;;
    *) echo "usage: integration/arm64.sh [--pages 4k|16k] [COMMAND...]" >&2; exit 2 ;;
  esac
  shift 2
fi
install_packages "${build_packages[@]}" doctest-dev qemu-system-arm mmdebstrap cpio e2fsprogs xz-utils
source integration/arm64/machine.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Left of ||, bash would ignore set -e in all that the command runs.
quietly() {
  local status
  set +e
  (set -e; "$@") >"$log" 2>&1
  status=$?
  set -e
  [[ $status == 0 ]] || { cat "$log"; return "$status"; }
}

build_all() {
  local launcher=()
  ! command -v ccache >/dev/null || launcher=(-DCMAKE_{C,CXX}_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  cross build "$arm64/build" "${launcher[@]}" -DCMAKE_TOOLCHAIN_FILE=integration/arm64/toolchain.cmake -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DHEAPATTACH_WERROR=ON -- heapattach "$@"
}

for step in compiler_once root_once "kernel_once $pages" disk_once; do
  # shellcheck disable=SC2086
  quietly $step
done
if [[ $# -gt 0 ]]; then
  quietly build_all
  start_machine "$pages" "$@"
  exit
fi
quietly build_all heapattach_integration heapattach_tests
start_machine "$pages" integration/arm64/live_tests
