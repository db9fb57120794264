# Sourced by arm64.sh and arm64_cores.sh, in the repository's directory: Debian's compiler and
# libraries for aarch64, and an emulated machine with Debian's arm64 kernel. All of it is in build/arm64,
# and is unpacked, not installed: installed, the compiler would replace gcc-multilib.

readonly arm64=$PWD/build/arm64 arm64_target=aarch64-linux-gnu
compiler_version=$(g++ -dumpversion)
readonly compiler_version
export HEAPATTACH_ARM64=$arm64
readonly arm64_compiler=({g++,gcc,cpp}-"$compiler_version-$arm64_target" "binutils-$arm64_target"
  {libgcc,libstdc++}-"$compiler_version-dev-arm64-cross" linux-libc-dev-arm64-cross
  {libgcc-s1,libstdc++6}-arm64-cross)
# What the machine has installed. Its headers and libraries are also those that we compile with.
readonly arm64_inside=(jq base-passwd dash bash grep sed findutils mount util-linux hostname libc-bin coreutils busybox-static procps gcc g++ gdb python3 ruby libgc-dev libelf-dev libdw-dev
  liblzma-dev libcapstone-dev libfmt-dev libsimdjson-dev libmicrohttpd-dev zlib1g-dev doctest-dev)

# With lists of its own, so that this machine's need not have another architecture.
arm64_apt() {
  apt-get -q -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root \
    -o Dir::State="$arm64/state" -o Dir::State::status=/dev/null -o Dir::Cache="$arm64/cache" \
    -o Dir::Etc::sourceparts="$arm64/sources" -o Dir::Etc::sourcelist=/dev/null "$@"
}

# The lists of packages that Debian itself has, for this release and, for other kernels, its backports.
update_lists() {
  local release
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mkdir -p "$arm64"/{state/lists/partial,cache/archives/partial,sources}
  {
    debian_sources "$release"
    debian_sources "$release-backports" | grep -- '-backports main$'
  } >"$arm64/sources/debian.list"
  arm64_apt update
}

# once NAME LIST COMMAND...: runs the command unless it has succeeded with the same list.
once() {
  local name=$1 list=$2
  shift 2
  [[ $(cat "$arm64/$name.done" 2>/dev/null) != "$list" ]] || return 0
  echo "arm64: $name"
  rm -rf "${arm64:?}/$name" "$arm64/$name.done"
  mkdir -p "$arm64/$name"
  "$@"
  echo "$list" >"$arm64/$name.done"
}

unpack() {  # unpack DIR PACKAGE...
  local dir=$1 package packages=$arm64/packages
  shift
  rm -rf "$packages"
  mkdir -p "$packages"
  update_lists
  (cd "$packages" && arm64_apt download "$@")
  for package in "$packages"/*.deb; do dpkg -x "$package" "$dir"; done
}

# Without the packages' scripts, which would take minutes in emulation.
make_root() {
  local link
  mmdebstrap --arch=arm64 --variant=extract --include="$(IFS=,; echo "${arm64_inside[*]}")" \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$arm64/root"
  cp "$arm64/root/usr/share/base-passwd/passwd.master" "$arm64/root/etc/passwd"
  cp "$arm64/root/usr/share/base-passwd/group.master" "$arm64/root/etc/group"
  # Links that are right in the machine only.
  find "$arm64/root/usr/lib/$arm64_target" -maxdepth 1 -lname '/*' | while read -r link; do
    ln -sfr "$arm64/root$(readlink "$link")" "$link"
  done
}

unpack_kernel() {  # unpack_kernel DIR PATTERN: the newest package whose name is like that
  local package
  update_lists
  package=$(apt-cache -o Dir::State="$arm64/state" -o Dir::Cache="$arm64/cache" -o APT::Architectures::=arm64 \
    -o Dir::Etc::sourceparts="$arm64/sources" -o Dir::Etc::sourcelist=/dev/null search --names-only "$2" |
    sed 's/ .*//' | sort -V | tail -n 1)
  [[ -n $package ]] || { echo "Debian has no kernel like $2 here"; return 1; }
  unpack "$1" "$package:arm64"
}

compiler_once() { once compiler "${arm64_compiler[*]}" unpack "$arm64/compiler" "${arm64_compiler[@]}"; }

root_once() { once root "${arm64_inside[*]}" make_root; }

# kernel_once [-16k]: into build/arm64/kernel or build/arm64/kernel-16k. The former is the release's own.
kernel_once() {
  local pattern='^linux-image-[0-9.]*-[0-9]*-arm64$'
  [[ -z ${1-} ]] || pattern="^linux-image-[0-9].*-arm64$1\$"
  once "kernel${1-}" "$pattern" unpack_kernel "$arm64/kernel${1-}" "$pattern"
}

# The cross binutils need libraries of their own.
cross() { LD_LIBRARY_PATH=$arm64/compiler/usr/lib/x86_64-linux-gnu "$@"; }

# The disk is made once for each root; the machine's writes to it are lost.
make_disk() {
  mkdir -p "$arm64/disk"
  mke2fs -q -t ext4 -O ^metadata_csum,^has_journal -d "$arm64/root" "$arm64/disk/image" 3G
}

disk_once() { once disk "$(stat -c %Y "$arm64/root.done")" make_disk; }

# The kernel's modules for the disk, the shared directory and random numbers, in the order of their dependencies.
readonly arm64_modules=(virtio virtio_ring virtio_mmio virtio_blk crc16 mbcache jbd2 crc32c_generic libcrc32c ext4
  netfs fscache 9pnet 9pnet_virtio 9p rng-core virtio-rng)

# start_machine PAGES COMMAND...: runs it in the machine as root, in this directory, which it can read. Prints what
# it prints, and has its status; 255 if the machine did not come that far.
start_machine() {
  local kernel=$arm64/kernel$1 boot=$arm64/boot module status
  shift
  rm -rf "$boot"
  mkdir -p "$boot"/{bin,proc,dev,new}
  cp "$arm64/root/bin/busybox" "$boot/bin/"
  for module in "${arm64_modules[@]}"; do
    find "$kernel" \( -name "$module.ko" -o -name "$module.ko.xz" \) -exec cp {} "$boot/" \;
  done
  find "$boot" -name '*.ko.xz' -exec xz -d {} +
  cat >"$boot/init" <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t devtmpfs none /dev
for module in MODULES; do [ ! -e /$module.ko ] || /bin/busybox insmod /$module.ko; done
/bin/busybox mount -t ext4 /dev/vda /new || exec /bin/busybox poweroff -f
/bin/busybox cp /run.sh /new/run.sh
/bin/busybox umount /proc
exec /bin/busybox switch_root /new /bin/bash /run.sh
END
  sed -i "s/MODULES/${arm64_modules[*]}/" "$boot/init"
  {
    printf 'directory=%q\ncommand=(' "$PWD"
    printf '%q ' "$@"
    printf ')\nexport HEAPATTACH_LONG=%q\n' "${HEAPATTACH_LONG-}"
    cat integration/arm64/inside.sh
  } >"$boot/run.sh"
  chmod +x "$boot/init"
  (cd "$boot" && find . | cpio -o -H newc --quiet) >"$arm64/initrd"
  rm -f "$arm64/status"
  # The last line is the command's status.
  nice -n 5 timeout "${arm64_limit:-${HEAPATTACH_LONG:+5}3000}" qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -smp 2 -m 3G \
    -display none -monitor none -no-reboot -nic none -serial stdio -kernel "$(find "$kernel" -name 'vmlinuz-*')" \
    -initrd "$arm64/initrd" -append "console=ttyAMA0 quiet panic=-1" \
    -drive "file=$arm64/disk/image,format=raw,if=none,id=disk,snapshot=on" -device virtio-blk-device,drive=disk \
    -device virtio-rng-device -fsdev local,id=here,path="$PWD",security_model=none,readonly=on \
    -device virtio-9p-device,fsdev=here,mount_tag=here </dev/null 2>&1 |
    awk -v file="$arm64/status" '{ gsub(/\r/, "") } /^status [0-9]+$/ { print $2 >file; next } { print; fflush() }'
  status=$(cat "$arm64/status" 2>/dev/null || echo 255)
  return "$status"
}
