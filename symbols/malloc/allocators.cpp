#include "symbols/malloc/allocators.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace heapattach::glibc {

namespace {

// An allocator that takes the place of glibc's, and a symbol that only it defines.
struct Other {
  std::string_view name;
  std::string_view library;  // the start of its file's name
  std::string_view symbol;
  std::string_view instead;
};
constexpr std::array kOthers{
    Other{"jemalloc", "libjemalloc", "malloc_stats_print",
          "jemalloc's own profiler (MALLOC_CONF=prof:true)"},
    Other{"jemalloc", "libjemalloc", "je_malloc_stats_print",
          "jemalloc's own profiler (MALLOC_CONF=prof:true)"},
    Other{"tcmalloc", "libtcmalloc", "MallocExtension_ReleaseFreeMemory",
          "tcmalloc's own profiler (HEAPPROFILE)"},
    Other{"mimalloc", "libmimalloc", "mi_malloc",
          "mimalloc's own statistics (MIMALLOC_SHOW_STATS)"},
    Other{"AddressSanitizer or LeakSanitizer", "libasan", "__lsan_do_leak_check",
          "its own check for leaks"},
};

bool is_musl(const Module& module) {
  return module.name().starts_with("ld-musl-") || module.name().starts_with("libc.musl-");
}

}  // namespace

Result<void> check_allocator(const Modules& modules) {
  for (const Module& module : modules.all()) {
    if (is_musl(module)) {
      return Error{ErrorKind::Unsupported,
                   "it allocates with musl's malloc, whose heap heapattach cannot read"}
          .advise("a build of the program for glibc");
    }
    for (const Other& other : kOthers) {
      if (!module.name().starts_with(other.library) && !module.find_symbol(other.symbol)) continue;
      return Error{ErrorKind::Unsupported,
                   fmt::format("it allocates with {} ({}), whose heap heapattach cannot read",
                               other.name, module.name())}
          .advise(fmt::format("{}, or glibc's malloc instead", other.instead));
    }
  }
  return {};
}

}  // namespace heapattach::glibc
