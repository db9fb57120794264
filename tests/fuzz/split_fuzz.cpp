#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/mman.h>
#include <unistd.h>

#include "symbols/dwarf/dwarf_types.h"
#include "tests/fuzz/split_input.h"

namespace {

using namespace heapattach;

bool fill(const Fd& file, std::span<const std::byte> bytes) {
  return ftruncate(file.get(), 0) == 0 &&
         pwrite(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

}  // namespace

// Reads debug information that was split off or moved to a supplementary file, with its main file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fd program(memfd_create("program", MFD_CLOEXEC));
  static const Fd beside(memfd_create("beside", MFD_CLOEXEC));
  const auto input = fuzz::split_input_in(std::as_bytes(std::span(data, size)));
  if (!input || !fill(program, input->program) || !fill(beside, input->beside)) return 0;
  auto mapped = MappedBytes::map(beside);
  if (!mapped) return 0;
  const Companion companion{input->kind, "beside", std::move(mapped).value()};
  types::TypeOptions options;
  options.use_sandbox = false;
  options.limits.types = 10'000;
  options.limits.members = 100'000;
  (void)types::read_types_of(program, 0x1000, options, std::span(&companion, 1));
  return 0;
}
