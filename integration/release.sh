#!/usr/bin/env bash
# Makes build/release/heapattach-x86_64-linux.tar.gz: integration/release.sh
#
# The program in it is linked statically, so that it runs on any distribution, with or without a C library;
# beside it are the watchdog, the plugin for kubectl, the man pages, the completions and the license. It is
# tried on a process, in a root directory in which there is only what containers/Containerfile copies, with
# the rights that a container has with SYS_PTRACE. This needs root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source integration/packages.sh
install_packages "${build_packages[@]}" "${package_packages[@]}" libgc-dev jq

out=$PWD/build/release archive=heapattach-$(uname -m)-linux
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l report/cli/install/changelog -S Timestamp)
export SOURCE_DATE_EPOCH
build "$out/static" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHEAPATTACH_WERROR=ON \
  -DHEAPATTACH_STATIC=ON -DBUILD_TESTING=OFF
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
ls -l "$out/$archive.tar.gz"
