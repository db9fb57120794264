#include "symbols/malloc/allocators.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "symbols/heap/object_allocators.h"

namespace heapattach::glibc {

namespace {

// An allocator that replaces glibc's, and a symbol that only it defines.
struct Other {
  std::string_view name;
  std::string_view file;  // the start of its library's name
  std::string_view symbol;
  std::string_view instead;
};
constexpr std::array kOthers{
    Other{"jemalloc", "libjemalloc", "malloc_stats_print",
          "jemalloc's own profiler (MALLOC_CONF=prof:true), or glibc's malloc instead"},
    Other{"jemalloc", "libjemalloc", "je_malloc_stats_print",
          "jemalloc's own profiler (MALLOC_CONF=prof:true), or glibc's malloc instead"},
    Other{"tcmalloc", "libtcmalloc", "MallocExtension_ReleaseFreeMemory",
          "tcmalloc's own profiler (HEAPPROFILE), or glibc's malloc instead"},
    Other{"mimalloc", "libmimalloc", "mi_malloc",
          "mimalloc's own statistics (MIMALLOC_SHOW_STATS), or glibc's malloc instead"},
    Other{"AddressSanitizer or LeakSanitizer", "libasan", "__lsan_do_leak_check",
          "its own check for leaks, or a build without it"},
    Other{"ThreadSanitizer", "libtsan", "__tsan_init", "a build without it"},
    Other{"MemorySanitizer", "libmsan", "__msan_init", "a build without it"},
};

// True for the C library and for the loader, which has a malloc of its own.
bool is_glibc(const Module& module) {
  return module.name().starts_with("libc.so") || module.name().starts_with("libc-2.") ||
         module.name().starts_with("ld-");
}

}  // namespace

Result<void> check_allocator(const Modules& modules) {
  for (const Module& module : modules.all()) {
    for (const Other& other : kOthers) {
      if (!module.name().starts_with(other.file) && !module.find_symbol(other.symbol)) continue;
      return Error{
          ErrorKind::Unsupported,
          fmt::format("the program allocates with {} ({}), whose heap heapattach cannot read",
                      other.name, module.name())}
          .advise(std::string(other.instead));
    }
  }
  return {};
}

Error explain_missing(const Modules& modules, Error error) {
  for (const Module& module : modules.all()) {
    if (is_glibc(module) || !module.find_symbol("malloc")) continue;
    error.reason +=
        fmt::format("; {} has a malloc of its own, which heapattach cannot read", module.name());
    return std::move(error).advise("a build of the program that allocates with glibc's malloc");
  }
  if (const auto* const other = heap::find_object_allocator(modules)) {
    error.reason += fmt::format("; {}", other->where);
    return std::move(error).advise(std::string(other->instead));
  }
  const bool has_glibc = std::any_of(modules.all().begin(), modules.all().end(), is_glibc);
  error.reason += has_glibc ? " (it may not have allocated anything yet)"
                            : " (a Go program, or a static one with a malloc of its own?)";
  return error;
}

}  // namespace heapattach::glibc
