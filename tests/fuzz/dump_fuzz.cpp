#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "report/format/read/collector_dump.h"
#include "report/format/read/join_dump.h"
#include "report/model/counts.h"

namespace {

using namespace heapattach;

// A dump of a few bytes may describe a heap that takes minutes to walk.
constexpr std::uint64_t kMostBytes = 16U << 20U;

}  // namespace

// Reads a collector's dump, plain or packed. The counts must equal what the dump lists.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fd file(::memfd_create("dump", MFD_CLOEXEC));
  if (::ftruncate(file.get(), 0) != 0) std::abort();
  if (::pwrite(file.get(), data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  auto opened = read::TextFile::open("/proc/self/fd/" + std::to_string(file.get()), {});
  if (!opened || !read::is_collector_dump(*opened)) return 0;
  const auto dump = read::read_collector_dump(std::move(opened).value(), {});
  if (!dump || dump->index.used_bytes > kMostBytes) return 0;
  read::DumpOptions what;
  what.with_edges = true;
  what.with_texts = dump->has_contents;
  const auto snapshot = read::join_dump(*dump, what);
  if (!snapshot) return 0;
  const auto counts = snapshot::count_objects(*snapshot, snapshot::CountBy::Type);
  const bool adds_up =
      counts.objects == dump->objects.size() && counts.bytes == dump->index.used_bytes;
  if (!adds_up) std::abort();
  return 0;
}
