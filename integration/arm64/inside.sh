# The first process of the emulated machine, after two lines of machine.sh: `directory`, which it makes
# readable, and `command`, which it runs there.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
ln -sf /proc/self/fd /dev/fd
mkdir -p /dev/pts /dev/shm "$directory"
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=755 tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null
# Nothing here changes, so that what was read once may be kept.
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro here "$directory"
hostname arm64
busybox ip link set lo up
cd "$directory" || exit
export PATH=$directory/build/arm64/build/report:$PATH
# Not as the first process: orphans would be its children.
setsid bash -c '"$@"' command "${command[@]}" </dev/null
echo "status $?"
sync
busybox poweroff -f
