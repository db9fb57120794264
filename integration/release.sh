#!/usr/bin/env bash
# Makes build/release/heapattach-x86_64-linux.tar.gz: integration/release.sh
#
# The program in it is linked statically, so that it runs on any distribution, with or without a C library;
# beside it are the watchdog, the plugin for kubectl, the man pages, the completions and the license. It is
# tried on processes in three root directories. In the first there is only what containers/Containerfile
# copies, and the rights are those that a container has with SYS_PTRACE. The second has Debian's C library
# and shell; the third has musl and busybox, as Alpine Linux, but from Debian's packages. This needs root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source integration/packages.sh
install_packages "${build_packages[@]}" "${package_packages[@]}" libgc-dev jq mmdebstrap musl-tools

out=$PWD/build/release archive=heapattach-$(uname -m)-linux
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l report/cli/install/changelog -S Timestamp)
export SOURCE_DATE_EPOCH
# The archive has no debug information, and units of twice the usual size take a quarter less time in all.
HEAPATTACH_UNIT_LINES=7000 build "$out/static" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DHEAPATTACH_WERROR=ON -DHEAPATTACH_STATIC=ON -DBUILD_TESTING=OFF
(cd "$out/static" && cpack -G TGZ -B "$out")
rm -rf "$out/_CPack_Packages" "$out/unpacked"
mkdir -p "$out/unpacked"
tar -xzf "$out/$archive.tar.gz" -C "$out/unpacked" --strip-components 1
for file in bin/heapattach bin/heapattach-watchdog bin/kubectl-heapattach share/doc/heapattach/LICENSE \
  share/man/man1/heapattach.1.gz share/man/man1/heapattach-watchdog.1.gz \
  share/bash-completion/completions/heapattach share/zsh/vendor-completions/_heapattach \
  share/fish/vendor_completions.d/heapattach.fish; do
  test -s "$out/unpacked/$file"
done
if readelf --program-headers --dynamic "$out/unpacked/bin/heapattach" | grep -E 'INTERP|NEEDED'; then
  echo "release.sh: the program needs a loader" >&2
  exit 1
fi

# In the image's root, a process outside it that prints "ready" and knows its 5,000 objects.
root=$out/image
rm -rf "$root"
mkdir -p "$root/proc"
while read -r word from to; do
  [[ $word != COPY ]] || install -D "$out/unpacked/$from" "$root$to"
done <integration/containers/Containerfile
gcc -g -o "$out/still" integration/targets/still.c -lgc -pthread
coproc still { exec "$out/still" 5000; }
pid=$still_PID
trap 'kill "$pid" 2>/dev/null || true' EXIT
read -r -t 30 line <&"${still[0]}"
[[ $line == ready* ]]
as_root=()
[[ $(id -u) -eq 0 ]] || as_root=(sudo)
# What Docker leaves to root, and SYS_PTRACE.
rights=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service
rights+=,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap,+sys_ptrace
count=$("${as_root[@]}" unshare --mount sh -c "mount --bind /proc '$root/proc' && \
  exec setpriv --bounding-set $rights chroot '$root' /heapattach --count -f json $pid")
jq -e '.objects >= 5000 and .bytes + .unreachable_bytes + .free_bytes == .heap_bytes' <<<"$count"

# in_root ROOT COMMAND...
in_root() {
  "${as_root[@]}" unshare --mount sh -c 'mount --bind /proc "$1/proc" && mount --bind /dev "$1/dev" && exec chroot "$@"' \
    sh "$@"
}

# try_in ROOT COMPILER: unpacks the archive with what there is in ROOT, and looks for leaks in a process
# there, which prints how many it has.
try_in() {
  local root=$1 printed
  mkdir -p "$root/proc" "$root/dev"
  "$2" -std=gnu11 -O1 -fno-builtin -pthread integration/targets/musl_heap.c -o "$root/leaking" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free
  cp "$out/$archive.tar.gz" "$root/"
  printed=$(in_root "$root" /bin/sh -c '
    cd / && tar -xzf "$0.tar.gz" && mkfifo hold || exit 1
    ./leaking 5000 <hold >truth &
    exec 3>hold
    until grep -q ready truth; do sleep 0.1; done
    grep ready truth
    "$0/bin/heapattach" -q leaks -f json $!' "$archive")
  echo "$root: ${printed%%$'\n'*}"
  # An address that malloc left somewhere may hide a few.
  jq -e --arg truth "$printed" '($truth | capture("leaked=(?<n>[0-9]+)").n | tonumber) as $leaked |
    .objects <= $leaked and .objects >= $leaked * 0.9' <<<"${printed#*$'\n'}"
}

make_debian_root "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$out/debian" --variant=extract \
  --include=base-files,dash,coreutils,tar,gzip,grep,libc6
try_in "$out/debian/root" gcc
root=$out/alpine/root
rm -rf "$out/alpine"
mkdir -p "$root"
(cd "$out/alpine" && apt-get download -q busybox-static musl && for file in *.deb; do dpkg-deb -x "$file" root; done)
"${as_root[@]}" chroot "$root" /bin/busybox --install -s /bin
try_in "$root" musl-gcc
ls -l "$out/$archive.tar.gz"
