#!/usr/bin/env bash
# Reads core files of aarch64: integration/arm64_cores.sh [PROGRAM], by default build/dev/report/heapattach.
#
# Compiles the programs in integration/arm64 for aarch64, runs them in an emulated machine with Debian's
# arm64 kernel, and compares what heapattach says of their core files, here, with what they print. Takes
# three minutes, and downloads 150 MB the first time; all of it is in build/arm64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source integration/packages.sh
readonly tool=$(realpath "${1:-build/dev/report/heapattach}")
readonly target=aarch64-linux-gnu version=$(g++ -dumpversion) out=$PWD/build/arm64
readonly root=$out/root machine=$out/machine
install_packages qemu-system-arm cpio

readonly compiler=({gcc,cpp}-"$version-$target" "binutils-$target" "libgcc-$version-dev-arm64-cross"
  libgcc-s1-arm64-cross {libc6,linux-libc}-dev-arm64-cross libc6-arm64-cross libgc-dev:arm64 libgc1:arm64)
readonly inside=({busybox-static,libc6,libgc1,libgcc-s1}:arm64)

# With lists of its own, so that this machine's need not have another architecture.
own_apt() {
  apt-get -q -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root \
    -o Dir::State="$out/state" -o Dir::State::status=/dev/null -o Dir::Cache="$out/cache" "$@"
}

fetch() {
  local kernel package
  [[ $(cat "$out/fetched" 2>/dev/null) != "${compiler[*]} ${inside[*]}" ]] || return 0
  rm -rf "$out"
  mkdir -p "$out"/{state/lists/partial,cache/archives/partial,compiler,inside,kernel} "$machine"
  own_apt update
  (cd "$out/compiler" && own_apt download "${compiler[@]}")
  (cd "$out/inside" && own_apt download "${inside[@]}")
  kernel=$(apt-cache -o Dir::State="$out/state" -o Dir::Cache="$out/cache" -o APT::Architectures::=arm64 \
    depends linux-image-arm64:arm64 | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1)
  (cd "$out/kernel" && own_apt download "${kernel%:arm64}:arm64")
  for package in "$out"/compiler/*.deb; do dpkg -x "$package" "$root"; done
  for package in "$out"/inside/*.deb; do dpkg -x "$package" "$machine"; done
  for package in "$out"/kernel/*.deb; do dpkg -x "$package" "$out/kernel"; done
  echo "${compiler[*]} ${inside[*]}" >"$out/fetched"
}

# compile NAME SOURCE OPTION...: into the machine.
compile() {
  local name=$1 source=$2
  shift 2
  LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu "$root/usr/bin/$target-gcc-$version" --sysroot="$root" -g -O1 \
    -isystem "$root/usr/$target/include" -I"$root/usr/include" -L"$root/usr/$target/lib" \
    -L"$root/usr/lib/$target" -Wl,-rpath-link,"$root/usr/$target/lib" "integration/arm64/$source.c" \
    -o "$machine/$name" "$@"
}

# Runs all programs, and leaves core.NAME and printed.NAME in $out/made.
run_machine() {
  find "$out/kernel" \( -name virtio_mmio.ko -o -name virtio_blk.ko \) -exec cp {} "$machine/" \;
  mkdir -p "$machine"/{proc,sys,dev,out}
  cat >"$machine/init" <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t devtmpfs none /dev
for module in virtio_mmio virtio_blk; do /bin/busybox insmod /$module.ko; done
ulimit -c unlimited
echo /out/core.%e >/proc/sys/kernel/core_pattern
for program in collected fixed stripped signed interrupted; do /$program >/out/printed.$program; done
/bin/busybox tar cf /dev/vda -C /out .
/bin/busybox sync
/bin/busybox poweroff -f
END
  chmod +x "$machine/init"
  (cd "$machine" && find . | cpio -o -H newc --quiet) >"$out/initrd"
  rm -rf "$out/made" "$out/disk"
  mkdir "$out/made"
  truncate -s 256M "$out/disk"
  timeout 600 qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -smp 2 -m 1G -nographic -no-reboot -nic none \
    -kernel "$(find "$out/kernel" -name 'vmlinuz-*')" -initrd "$out/initrd" \
    -append "console=ttyAMA0 rdinit=/init quiet panic=-1" -drive "file=$out/disk,format=raw,if=none,id=disk" \
    -device virtio-blk-device,drive=disk </dev/null >"$out/console" 2>&1
  tar xf "$out/disk" -C "$out/made"
}

report() { "$tool" --sysroot "$machine" "$@"; }

failures=0
expect() {
  local text=$1 pattern=$2 name=$3
  grep -qE "$pattern" <<<"$text" || {
    echo "$name: no line like '$pattern' in:"
    echo "$text"
    failures=$((failures + 1))
  }
}

check_collected() {
  local name=$1 printed counted
  printed=$(cat "$out/made/printed.$name")
  read -r _ heap _ free _ nodes <<<"$printed"
  counted=$(report --count --heap gc "$out/made/core.$name")
  expect "$counted" " $heap +heap$" "$name"
  expect "$counted" " $free +free$" "$name"
  [[ $name == stripped ]] || expect "$counted" " $nodes +[0-9]+ +[0-9.]+ +struct node$" "$name"
  [[ $name == stripped ]] || expect "$(report --stacks "$out/made/core.$name")" " outer " "$name"
}

fetch
compile collected collected -lgc
compile fixed collected -static -lgc
compile stripped collected -static -s -lgc
compile signed collected -mbranch-protection=standard -lgc
compile interrupted interrupted
run_machine
for name in collected fixed stripped signed; do check_collected "$name"; done
read -r _ leaked _ <"$out/made/printed.interrupted"
expect "$(report leaks "$out/made/core.interrupted")" "^$leaked objects leaked, 60000 bytes" interrupted
stacks=$(report --stacks "$out/made/core.interrupted")
expect "$stacks" "without_frame .*interrupted by a signal" interrupted
expect "$stacks" " main " interrupted
echo "core files of aarch64: $failures failures"
exit $((failures > 0))
