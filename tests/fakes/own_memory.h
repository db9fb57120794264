#pragma once

#include <cerrno>

#include <sys/uio.h>
#include <unistd.h>

#include "attach/memory/memory_reader.h"

namespace heapattach {

// The memory of the test itself, as if it were the target's.
class OwnMemory final : public MemoryReader {
 public:
  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    const iovec ours{into.data(), into.size()};
    const iovec theirs{reinterpret_cast<void*>(from.value), into.size()};
    const ssize_t count = process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0);
    const int os_errno = errno;
    if (count <= 0) return os_error(fmt::format("reading at {}", from), os_errno);
    return static_cast<std::size_t>(count);
  }
};

}  // namespace heapattach
