// In glibc, all of malloc's functions are compiled together, so their code is contiguous. They call
// each other like this, in all releases since 2.26:
//
//     realloc(null, size)                           jumps to malloc
//     realloc, where a mapped block cannot grow     calls malloc and free
//     aligned_alloc, memalign, valloc, pvalloc      jump to malloc if it aligns well enough
//     posix_memalign                                calls it then
//
// calloc, and the aligned functions otherwise, share only what is behind malloc. So allocations are
// counted at the outermost function: malloc's calls from malloc's own code do not count, nor does a
// jump to it from one of the others.

#include "report/trace/find_malloc.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "symbols/malloc/source.h"

namespace heapattach::trace {

namespace {

constexpr const char* kAdvice =
    "--exe FILE, a copy of the same build that is not stripped; without it, leaks and --watch, "
    "which need no symbols";
// All of malloc's code takes about 24 KiB.
constexpr std::uint64_t kMostCode = std::uint64_t{256} << 10;

struct Known {
  std::string_view name;
  MallocForm form;
  bool leads_on = false;
  bool is_led = false;
  bool is_needed = false;
};
constexpr std::array<Known, 9> kKnown{{
    {.name = "malloc", .form = MallocForm::Size, .is_led = true, .is_needed = true},
    {.name = "calloc", .form = MallocForm::Count, .is_needed = true},
    {.name = "realloc", .form = MallocForm::Resize, .leads_on = true, .is_needed = true},
    {.name = "memalign", .form = MallocForm::Aligned, .leads_on = true},
    {.name = "aligned_alloc", .form = MallocForm::Aligned, .leads_on = true},
    {.name = "posix_memalign", .form = MallocForm::Storing},
    {.name = "valloc", .form = MallocForm::WholePages, .leads_on = true},
    {.name = "pvalloc", .form = MallocForm::WholePages, .leads_on = true},
    {.name = "free", .form = MallocForm::Free, .is_needed = true},
}};

// Only glibc defines these, the C library as well as a program that contains it.
const Module* find_glibc(const Modules& modules) {
  const auto all = modules.all();
  const auto found = std::ranges::find_if(all, [](const Module& module) {
    return module.find_symbol("__libc_malloc") && module.find_symbol("__libc_free");
  });
  return found == all.end() ? nullptr : &*found;
}

// The function's code is also known by a name that no other library defines.
std::optional<Symbol> find_function(const Module& module, std::string_view name) {
  auto found = module.find_symbol(fmt::format("__libc_{}", name));
  if (!found) found = module.find_symbol(name);
  if (!found || !found->is_function || found->bytes == 0) return std::nullopt;
  return found;
}

Entry entry_of(const Module& module, const Symbol& symbol, const Known& known) {
  const auto code = module.file_bytes(symbol.address);
  const auto bytes =
      static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(code.size(), symbol.bytes));
  return {.name = std::string(known.name),
          .at = symbol.address,
          .code = {code.begin(), code.begin() + bytes},
          .leads_on = known.leads_on,
          .is_led = known.is_led};
}

}  // namespace

Result<std::vector<MallocEntry>> find_malloc(snapshot::Opened& target, const Request& request) {
  const auto heap = HA_TRY(target.find_heap(glibc::kHeapKind, request.on_step, request.deadline));
  HA_TRY(heap->check(target.modules, target.memory));
  const Module* const glibc = find_glibc(target.modules);
  if (glibc == nullptr) {
    return Error{ErrorKind::Impossible, "the program has no symbols for malloc's functions"}.advise(
        kAdvice);
  }
  std::vector<MallocEntry> found;
  Range code;
  for (const Known& known : kKnown) {
    const auto symbol = find_function(*glibc, known.name);
    if (!symbol && known.is_needed) {
      return Error{ErrorKind::Impossible,
                   fmt::format("{} has no symbol for {}", glibc->name(), known.name)}
          .advise(kAdvice);
    }
    const auto is_same = [&](const MallocEntry& one) { return one.entry.at == symbol->address; };
    if (!symbol || std::ranges::any_of(found, is_same)) continue;
    const RemoteAddr end = std::max(code.end(), symbol->address + symbol->bytes);
    code.start = found.empty() ? symbol->address : std::min(code.start, symbol->address);
    code.bytes = end - code.start;
    found.push_back({entry_of(*glibc, *symbol, known), known.form});
  }
  if (code.bytes > kMostCode) {
    return Error{ErrorKind::Impossible, fmt::format("malloc's functions in {} are {} bytes apart",
                                                    glibc->name(), code.bytes)};
  }
  for (MallocEntry& one : found) one.entry.inner = code;
  return found;
}

}  // namespace heapattach::trace
