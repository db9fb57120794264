#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "attach/sandbox/sandbox.h"
#include "symbols/unwind/places.h"

// Reads everything that names the instructions of a module: debug information with its scopes, line
// tables, symbols in compressed form, and the relocations of stubs.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapattach;
  constexpr std::size_t kMostUnpacked = std::size_t{1} << 20;
  constexpr std::uint64_t kSteps = 64;  // places of each segment
  pretend_to_have_no_rights();
  static_cast<void>(unwind::unpack_xz(std::as_bytes(std::span(data, size)), kMostUnpacked));
  Fd file(memfd_create("fuzz", MFD_CLOEXEC));
  if (pwrite(file.get(), data, size, 0) != static_cast<ssize_t>(size)) return 0;
  auto module = Module::from_file(std::move(file), "/fuzz", 0x1000);
  if (!module) return 0;
  std::vector<Module> all;
  all.push_back(std::move(module).value());
  const Modules modules(std::move(all));
  unwind::ModuleDebugs debugs(modules);
  unwind::Places places(debugs);
  for (const Segment& segment : modules.all().front().segments()) {
    const std::uint64_t step = segment.range.bytes / kSteps + 1;
    for (std::uint64_t at = 0; at < segment.range.bytes; at += step) {
      const RemoteAddr pc = segment.range.start + at;
      static_cast<void>(places.of(pc));
      if (unwind::ModuleDebug* const debug = debugs.find(pc)) {
        static_cast<void>(debug->name_without_symbol(pc));
      }
    }
  }
  return 0;
}
