#include <cstddef>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

#include "symbols/dwarf/dwarf_types.h"

// Reads debug information from the bytes of a whole ELF file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapattach;
  static const Fd file(memfd_create("fuzz", MFD_CLOEXEC));
  if (ftruncate(file.get(), 0) != 0) return 0;
  if (pwrite(file.get(), data, size, 0) != static_cast<ssize_t>(size)) return 0;
  types::TypeOptions options;
  options.use_sandbox = false;
  options.limits.types = 10'000;
  options.limits.members = 100'000;
  (void)types::read_types_of(file, 0x1000, options);
  return 0;
}
