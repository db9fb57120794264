#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "report/format/read/trace_lines.h"
#include "report/format/write/trace_lines.h"
#include "report/trace/sites.h"
#include "tests/support/memory_sink.h"

namespace {

using namespace heapattach;

// Reads `bytes`, which are a whole file, by way of a file in memory.
Result<trace::Trace> read_bytes(const void* bytes, std::size_t size) {
  const Fd file(::memfd_create("trace", MFD_CLOEXEC));
  if (::write(file.get(), bytes, size) != static_cast<ssize_t>(size)) std::abort();
  read::ReadTraceOptions options;
  options.block_bytes = 100;  // so that block boundaries are everywhere
  auto opened = read::TextFile::open("/proc/self/fd/" + std::to_string(file.get()), {});
  if (!opened) return opened.error();  // for example, it claims to be compressed and is not
  return read::read_trace_lines(std::move(*opened), options);
}

std::string written(const trace::Trace& trace) {
  MemorySink sink;
  if (!write_trace_lines(trace, sink, {})) std::abort();
  return sink.text;
}

}  // namespace

// Reads a saved trace. If that succeeds, makes its rows, writes it and reads it again: the result
// must be the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto found = read_bytes(data, size);
  if (!found) return 0;
  static_cast<void>(trace::make_site_table(*found, {}));
  const std::string once = written(*found);
  const auto again = read_bytes(once.data(), once.size());
  if (!again || written(*again) != once) std::abort();
  return 0;
}
