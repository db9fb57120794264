# Any processor can run it; x18 may be the target's own.
set(blob_flags -march=armv8-a -mno-outline-atomics -mbranch-protection=none -ffixed-x18)
set(blob_code_bytes 65536)  # as in layout.h
