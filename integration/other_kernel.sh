#!/usr/bin/env bash
# Runs a command on Debian's kernel, in a virtual machine that sees this machine's files but cannot
# change them (with empty /tmp, /var/tmp, /run and /root):
#
#   integration/other_kernel.sh 'lsm=' build/dev/integration/heapattach_integration -tc='*copy of*'
#
# The first argument holds kernel parameters. "lsm=" leaves out Landlock and Yama, "lsm=yama" only
# Landlock. Prints what the command prints, and exits with its status. Needs root, and takes
# half a minute more than the command. KERNEL=linux-image-… names another package,
# MEMORY=6144 gives it so many megabytes.
set -euo pipefail
[[ $# -ge 2 ]] || { sed -n '2,/^set/{/^#/p}' "$0" | cut -c3- >&2; exit 2; }
parameters=$1
shift
source "$(dirname "$0")/packages.sh"
install_packages qemu-system-x86 busybox-static cpio kmod >&2

kernel=${KERNEL:-$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p')}
kept=${XDG_CACHE_HOME:-$HOME/.cache}/heapattach-kernels/$kernel
if [[ ! -d $kept ]]; then
  mkdir -p "$kept.new"
  (cd "$kept.new" && apt-get download -q "$kernel" >&2 && dpkg-deb -x ./*.deb . && rm ./*.deb)
  depmod -b "$kept.new" "$(ls "$kept.new/lib/modules")"
  mv "$kept.new" "$kept"
fi
release=$(ls "$kept/lib/modules")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,proc,host,lib/modules/"$release"}
cp "$(command -v busybox)" "$root/bin/busybox"
for module in virtio_pci 9pnet_virtio 9p; do
  modprobe -d "$kept" -S "$release" --show-depends "$module" | sed -n 's/^insmod //p'
done | awk '!seen[$1]++ {print $1}' >"$root/modules"
while read -r file; do cp "$file" "$root/lib/modules/"; done <"$root/modules"
{
  printf 'cd %q\n' "$PWD"
  printf 'exec'
  printf ' %q' "$@"
  echo
} >"$root/command"
cat >"$root/init" <<'INIT'
#!/bin/busybox sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
b=/bin/busybox
$b mount -t proc none /proc
while read -r file; do $b insmod /lib/modules/${file##*/}; done </modules
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=500000 host /host
for at in proc sys dev tmp run; do $b umount /host/$at 2>/dev/null; done
$b mount -t proc none /host/proc
$b mount -t sysfs none /host/sys
$b mount -t securityfs none /host/sys/kernel/security
$b mount -t devtmpfs none /host/dev
$b mkdir -p /host/dev/shm /host/dev/pts
$b mount -t tmpfs none /host/dev/shm
for at in tmp run var/tmp root; do $b mount -t tmpfs -o mode=1777 none /host/$at; done
$b cp /command /host/run/command
$b ip link set lo up
$b chroot /host /bin/bash /run/command </dev/null >/host/run/output 2>&1
status=$?
$b cat /host/run/output
echo "status $status"
$b poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc) >"$work/root.cpio"

# Emulated unless ACCEL=kvm: not every machine that has /dev/kvm can run a guest.
qemu-system-x86_64 -accel "${ACCEL:-tcg}" -smp 2 -m "${MEMORY:-2048}" -nodefaults -display none -no-reboot \
  -kernel "$kept/boot/vmlinuz-$release" -initrd "$work/root.cpio" -serial stdio \
  -append "console=ttyS0 quiet loglevel=0 panic=-1 $parameters" \
  -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap </dev/null |
  tr -d '\r' >"$work/log"
grep -a -v '^status [0-9]*$' "$work/log" || true
status=$(sed -n 's/^status \([0-9]*\)$/\1/p' "$work/log" | tail -1)
exit "${status:-1}"
