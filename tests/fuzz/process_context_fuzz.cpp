#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "attach/memory/process_context.h"

namespace {

using namespace heapattach;

// A process with these bytes at the start of its memory, and nothing else.
class Bytes final : public MemoryReader {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    if (from.value >= bytes_.size()) return Error{ErrorKind::Fault, "no memory"};
    const std::size_t count = std::min(into.size(), bytes_.size() - from.value);
    std::memcpy(into.data(), bytes_.data() + from.value, count);
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

// Reads what a process publishes about itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  Mapping mapping;
  mapping.range = {{0}, 4096};
  mapping.path = "/memfd:OTEL_CTX";
  // Skips a context that is still being published: waiting for it costs 20 ms and tests nothing.
  const bool is_changing =
      size >= 24 && std::all_of(data + 16, data + 24, [](std::uint8_t one) { return one == 0; });
  if (!is_changing) (void)read_process_context(Bytes(bytes), MemoryMap({mapping}));
  const auto found = decode_process_context(bytes);
  if (!found) return 0;
  for (const Attribute& one : *found) {
    if (one.name.empty() || one.name.size() > 300 || one.value.size() > 1100) std::abort();
  }
  return 0;
}
