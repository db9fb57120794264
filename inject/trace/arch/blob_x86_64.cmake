set(blob_flags -fcf-protection=none)
set(blob_code_bytes 16384)  # as in layout.h
