"""Fails if this kernel takes memory for pages that are only read through /proc."""
import ctypes
import mmap
import sys

SIZE = 16 << 20


def resident():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith("RssAnon")).split()[1])


untouched = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
before = resident()
with open("/proc/self/mem", "rb", buffering=0) as memory:
    memory.seek(ctypes.addressof(ctypes.c_char.from_buffer(untouched)))
    for _ in range(SIZE >> 16):
        memory.read(1 << 16)
sys.exit(resident() > before + 4096)
