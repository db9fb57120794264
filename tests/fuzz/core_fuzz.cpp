#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "attach/core/core_file.h"
#include "symbols/boehm/roots.h"
#include "symbols/heap/roots.h"

namespace {

using namespace heapattach;

// Checks that the map and the readable bytes agree about `at`.
void read_around(const CoreFile& core, RemoteAddr at) {
  std::array<std::byte, 64> bytes{};
  const auto count = core.read_some(at, bytes);
  if (!count) return;
  const Mapping* const mapping = core.map().find(at);
  if (*count == 0 || *count > bytes.size() || mapping == nullptr) std::abort();
  if (*count > mapping->range.end() - at) std::abort();
}

}  // namespace

// Reads a core file. The map must be in order, and memory must be where the map says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fd file(::memfd_create("core", MFD_CLOEXEC));
  if (::ftruncate(file.get(), 0) != 0) std::abort();
  if (::pwrite(file.get(), data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  const auto opened = CoreFile::open("/proc/self/fd/" + std::to_string(file.get()));
  if (!opened) return 0;
  CoreFile& core = **opened;
  if (core.threads().empty() || core.stored_bytes() > size * core.map().mappings().size()) {
    std::abort();
  }
  RemoteAddr end{};
  for (const Mapping& mapping : core.map().mappings()) {
    if (mapping.range.bytes == 0 || mapping.range.start < end) std::abort();
    end = mapping.range.end();
    if (!mapping.is_anonymous() && !core.lend(mapping.range, file, mapping.file_offset)) {
      std::abort();
    }
    read_around(core, mapping.range.start);
    read_around(core, mapping.range.end() - 1);
  }
  for (const auto& root : boehm::stack_roots(core.threads(), core.map())) {
    read_around(core, root.range.start);
  }
  (void)core.program();
  return 0;
}
