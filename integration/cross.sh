#!/usr/bin/env bash
# Compiles every source for another processor: integration/cross.sh [SOURCE...]
#
# What is true of one processor only belongs into folders named arch. So each source that does not
# compile for aarch64 must be in one. Nothing is linked. The compiler and the headers are Debian's,
# unpacked in build/cross: installed, the compiler would replace gcc-multilib. Takes minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source integration/packages.sh
readonly target=aarch64-linux-gnu
install_packages "${build_packages[@]}"

readonly out=$PWD/build/cross version=$(g++ -dumpversion)
readonly compiler=$out/root/usr/bin/$target-g++-$version
readonly packages=({g++,gcc,cpp}-"$version-$target" {libgcc,libstdc++}-"$version-dev-arm64-cross"
  {libc6,linux-libc}-dev-arm64-cross {libelf,libdw,liblzma,libcapstone,libfmt}-dev:arm64 zlib1g-dev:arm64)

# With lists of its own, so that this machine's need not have another architecture.
own_apt() {
  apt-get -q -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root \
    -o Dir::State="$out/state" -o Dir::State::status=/dev/null -o Dir::Cache="$out/cache" "$@"
}

fetch() {
  [[ $(cat "$out/fetched" 2>/dev/null) != "${packages[*]}" ]] || return 0
  rm -rf "$out"
  mkdir -p "$out"/{state/lists/partial,cache/archives/partial,packages,generated}
  echo "downloading: ${packages[*]}"
  own_apt update
  (cd "$out/packages" && own_apt download "${packages[@]}")
  for package in "$out"/packages/*.deb; do dpkg -x "$package" "$out/root"; done
  echo "${packages[*]}" >"$out/fetched"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
fetch >"$log" 2>&1 || { cat "$log"; exit 1; }
cmake -DCOMPILER="$compiler" -DOUTPUT="$out/generated/call_list.h" -P inject/list_calls.cmake

# compile SOURCE: prints its name if it fails.
compile() {
  local log=$out/log.${1//\//_} language=(-x c++ -std=gnu++20)
  [[ $1 != *.c ]] || language=(-x c -std=gnu11)
  if "$compiler" "${language[@]}" -fsyntax-only -w -I. -I"$out/generated" -isystem "$out/root/usr/include" \
    -isystem "$out/root/usr/include/capstone" -DFMT_SHARED -DHEAPATTACH_VERSION='""' "$1" 2>"$log"; then
    rm "$log"
  else
    echo "$1"
  fi
}
export -f compile
export out compiler

sources=("$@")
[[ $# -gt 0 ]] || mapfile -t sources < <(find attach inject symbols report -name '*.cpp' -o -name '*.c' | sort)
rm -f "$out"/log.*
printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$1"' compile | sort >"$out/failed"

echo "${#sources[@]} sources, $(wc -l <"$out/failed") of which are for another processor than $target:"
cat "$out/failed"
if grep -v '/arch/' "$out/failed" >"$out/outside"; then
  while read -r source; do
    echo "$source is not in a folder named arch:"
    grep -m 3 'error' "$out/log.${source//\//_}" || tail -n 3 "$out/log.${source//\//_}"
  done <"$out/outside"
  exit 1
fi
