#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "report/analyze/type_sizes.h"
#include "report/format/read/ruby/dump.h"
#include "report/format/write/json_lines.h"
#include "report/model/counts.h"
#include "tests/support/memory_sink.h"

// Reads a dump of Ruby. If that succeeds, counts the objects and writes them as a snapshot.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapattach;
  const Fd file(::memfd_create("dump", MFD_CLOEXEC));
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) std::abort();
  auto text = read::TextFile::open("/proc/self/fd/" + std::to_string(file.get()), {});
  if (!text) return 0;
  ruby::DumpOptions options;
  options.block_bytes = 100;  // so that block boundaries are everywhere
  options.text_bytes = 10;
  options.by_line = size % 2 == 1;
  const auto found = ruby::read_dump(std::move(text).value(), options);
  if (!found) return 0;
  auto counts = snapshot::count_objects(*found, snapshot::CountBy::Type);
  analyze::add_sizes(*found, snapshot::CountBy::Type, counts);
  MemorySink sink;
  if (!write_json_lines(*found, sink, {})) std::abort();
  return 0;
}
