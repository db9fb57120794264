#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "report/analyze/type_sizes.h"
#include "report/format/read/json_lines.h"
#include "report/format/write/json_lines.h"
#include "report/model/counts.h"
#include "tests/support/memory_sink.h"

namespace {

using namespace heapattach;

// Reads `bytes`, which are a whole file, by way of a file in memory.
Result<snapshot::Snapshot> read_bytes(const void* bytes, std::size_t size) {
  const Fd file(::memfd_create("snapshot", MFD_CLOEXEC));
  if (::write(file.get(), bytes, size) != static_cast<ssize_t>(size)) std::abort();
  read::ReadOptions options;
  options.block_bytes = 100;  // so that block boundaries are everywhere
  return read::read_json_lines("/proc/self/fd/" + std::to_string(file.get()), options);
}

std::string written(const snapshot::Snapshot& snapshot) {
  MemorySink sink;
  if (!write_json_lines(snapshot, sink, {})) std::abort();
  return sink.text;
}

}  // namespace

// Reads a saved snapshot. If it can be read and is complete, writes it and reads it again: the
// result must be the same. The counts must add up.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto found = read_bytes(data, size);
  if (!found) return 0;
  auto counts = snapshot::count_objects(*found, snapshot::CountBy::Holder);
  analyze::add_sizes(*found, snapshot::CountBy::Holder, counts);
  const std::string once = written(*found);
  const auto again = read_bytes(once.data(), once.size());
  if (!again || written(*again) != once) std::abort();
  return 0;
}
