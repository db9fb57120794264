#!/usr/bin/env bash
# Reads core files of aarch64: integration/arm64_cores.sh [PROGRAM], by default build/dev/report/heapattach.
#
# Compiles the programs in integration/arm64 for aarch64, runs them in an emulated machine with Debian's
# arm64 kernel, and compares what heapattach says of their core files, here, with what they print. Takes
# three minutes, and some more the first time; all of it is in build/arm64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source integration/packages.sh
readonly tool=$(realpath "${1:-build/dev/report/heapattach}")
install_packages qemu-system-arm mmdebstrap cpio xz-utils
source integration/arm64/machine.sh
readonly out=$arm64/cores machine=$arm64/cores/machine

# The few files of the machine's root that the programs need.
make_machine() {
  local file
  rm -rf "$out"
  mkdir -p "$machine"/{proc,sys,dev,out,bin}
  cp "$arm64/root/bin/busybox" "$machine/bin/"
  for file in "$arm64_target"/lib{c.so.6,gc.so.1,gcc_s.so.1,m.so.6} ld-linux-aarch64.so.1; do
    mkdir -p "$(dirname "$machine/lib/$file")"
    cp -L "$(find "$arm64/root/lib" "$arm64/root/usr/lib" -path "*/$file" | head -n 1)" "$machine/lib/$file"
  done
}

# compile NAME SOURCE OPTION...: into the machine.
compile() {
  local name=$1 source=$2
  shift 2
  cross "$arm64/compiler/usr/bin/$arm64_target-gcc-$compiler_version" --sysroot="$arm64/root" -g -O1 \
    "integration/arm64/$source.c" -o "$machine/$name" "$@"
}

# Runs all programs, and leaves core.NAME and printed.NAME in $out/made.
run_machine() {
  find "$arm64/kernel" \( -name virtio_mmio.ko -o -name virtio_blk.ko \) -exec cp {} "$machine/" \;
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
    -kernel "$(find "$arm64/kernel" -name 'vmlinuz-*')" -initrd "$out/initrd" \
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

compiler_once
root_once
kernel_once
make_machine
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
