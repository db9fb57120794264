# In gdb, attached to a process: prints COUNT stacks of calls of GC_malloc_kind, one in a line, the
# return addresses from the innermost one outwards; then lets the process go. Writes the file READY
# when it begins to wait for calls.
import os

import gdb

count = int(os.environ["COUNT"])
gdb.execute("set pagination off")
gdb.execute("set backtrace past-main on")
gdb.execute("handle SIGPWR SIGXCPU nostop noprint pass")
gdb.execute("break *GC_malloc_kind", to_string=True)
open(os.environ["READY"], "w").close()
for _ in range(count):
    gdb.execute("continue", to_string=True)
    frame = gdb.newest_frame().older()
    addresses = []
    while frame is not None and frame.is_valid():
        # A fiber's stack ends with a return address of 0.
        if frame.type() != gdb.INLINE_FRAME and frame.pc() != 0:
            addresses.append("%x" % frame.pc())
        frame = frame.older()
    print("stack", *addresses, flush=True)
gdb.execute("delete", to_string=True)
gdb.execute("detach", to_string=True)
