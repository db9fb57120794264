#!/usr/bin/env bash
# Builds and tests on each supported release of Debian, in a root directory of its own:
#
#   integration/distributions.sh [--fresh] [SUITE...]
#   integration/distributions.sh [--fresh] SUITE -- COMMAND...
#
# Needs root and Debian. The suites are bookworm (12), trixie (13) and testing (the next release); without
# one, it takes all of them. In each, it installs what packages.sh lists, builds with warnings as errors,
# and runs the unit tests; in trixie, the live tests too. With a command, it runs that instead, such as
# integration/check.sh. The last line is "N passed, N failed".
#
# build/distributions/SUITE has the root, and what the root sees as this checkout's build/ (with the logs
# in build/distribution). A root is kept until packages.sh changes; --fresh makes it again from today's
# packages. The packages come from where the machine's own apt gets them, with its proxies.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly top=$PWD roots=$PWD/build/distributions

# test_here SUITE: runs in the root of SUITE. The counts are written even if a stage fails and ends it. The
# closing line is for all suites together.
test_here() {
  local parts=(heapattach heapattach_tests)
  [[ $1 != trixie ]] || parts+=(heapattach_integration)
  out=$top/build/distribution shown=$roots/$1/build/distribution
  source integration/packages.sh
  source integration/stages.sh
  closing_line() { :; }
  trap 'echo "$passed $failed $skipped" >"$out/counts"' EXIT
  stage "$1: build" build "$out/build" -DHEAPATTACH_WERROR=ON -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g -DNDEBUG" -- "${parts[@]}"
  ctest_stage "$1: unit tests" "$out/build" -L unit -j "$(nproc)"
  [[ $1 != trixie ]] || ctest_stage "$1: live tests" "$out/build" -L integration --repeat until-pass:2
}

if [[ ${1-} == --in-root ]]; then
  test_here "$2"
  exit
fi

fresh=0 suites=() command=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --fresh) fresh=1 ;;
    --) shift; command=("$@"); break ;;
    bookworm | trixie | testing) suites+=("$1") ;;
    *) sed -n '2,6s/^#\( \|$\)//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
[[ ${#suites[@]} -gt 0 ]] || suites=(bookworm trixie testing)
[[ ${#command[@]} -eq 0 || ${#suites[@]} -eq 1 ]] || { echo "a command needs one suite" >&2; exit 2; }
[[ $(id -u) -eq 0 ]] || { echo "$0: needs root, to mount /proc in the roots" >&2; exit 1; }

make_root() {  # make_root SUITE DIR
  rm -rf --one-file-system "$2/build"
  mkdir -p "$2/build"
  make_debian_root "$1" "$2" --variant=apt --include=ca-certificates,mount
  in_root "$1" bash -c 'source integration/packages.sh
    install_packages ccache "${build_packages[@]}" "${crystal_packages[@]}" "${test_packages[@]}"'
  cp integration/packages.sh "$2/packages.sh"
}

# in_root SUITE COMMAND...: in a mount namespace, so that no mount is left behind. The root is not entered
# with chroot, because a process there may not make user namespaces, as some tests do.
in_root() {
  local dir=$roots/$1
  shift
  mkdir -p "$roots/ccache" "$dir/build"
  unshare --mount --propagation private bash -c '
    set -e
    root=$1 build=$2 cache=$3 top=$4
    shift 4
    mount --bind "$root" "$root"
    mkdir -p "$root$top" "$root/var/cache/ccache"
    mount --bind "$top" "$root$top"
    mount --bind "$build" "$root$top/build"
    mount --bind "$cache" "$root/var/cache/ccache"
    for name in proc sys dev; do mount --rbind "/$name" "$root/$name"; done
    cd "$root"
    pivot_root . mnt
    umount -l /mnt
    cd "$top"
    exec "$@"' in_root "$dir/root" "$dir/build" "$roots/ccache" "$top" \
    env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CCACHE_DIR=/var/cache/ccache CCACHE_BASEDIR="$top" CCACHE_NOHASHDIR=1 \
    ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} "$@"
}

source integration/packages.sh
out=$roots
source integration/stages.sh
install_packages mmdebstrap
broken=()
for suite in "${suites[@]}"; do
  dir=$roots/$suite
  if [[ $fresh == 1 ]] || ! cmp -s integration/packages.sh "$dir/packages.sh"; then
    rm -f "$dir/packages.sh"
    stage "$suite: root" make_root "$suite" "$dir"
  fi
  if [[ ${#command[@]} -gt 0 ]]; then
    in_root "$suite" "${command[@]}"
    exit
  fi
  rm -f "$dir/build/distribution/counts"
  in_root "$suite" integration/distributions.sh --in-root "$suite" || broken+=("$suite")
  # None: the root could not be entered, as it has said.
  read -r now_passed now_failed now_skipped <"$dir/build/distribution/counts" || continue
  passed=$((passed + now_passed)) failed=$((failed + now_failed)) skipped=$((skipped + now_skipped))
done
echo "$passed $failed $skipped" >"$roots/counts"
closing_line
[[ ${#broken[@]} -eq 0 ]] || { echo "$0: failed in ${broken[*]}" >&2; exit 1; }
