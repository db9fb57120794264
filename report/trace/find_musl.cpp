// In musl, each of malloc's functions has a source file of its own, so other code may lie between
// them in a static program. Since 1.2.2, the public functions jump to internal ones that do the
// work, and that musl itself calls:
//
//     malloc, __libc_malloc        jump to __libc_malloc_impl
//     realloc                      jumps to __libc_realloc
//     realloc(null, size)          jumps to it, too, and calls it to move a block
//     free                         jumps to __libc_free
//     calloc                       calls malloc
//     aligned_alloc                calls __libc_malloc_impl; with the older malloc, jumps to it
//     memalign, valloc             jump to aligned_alloc
//     posix_memalign               calls aligned_alloc
//
// Each function is hooked where such a chain of jumps ends. A shared library has names only for the
// public functions, and no sizes for the others, so a function is the code that its jumps reach.
//
// A function that allocates by calling a hooked one is hooked, too: the allocation then counts for
// its caller, and its code for malloc's own. If malloc is preloaded, or wrapped by the linker,
// calloc calls the other malloc, and the allocation is counted in musl's.

#include "report/trace/find_musl.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/trace/reached_code.h"
#include "symbols/code/disassembler.h"

namespace heapattach::trace {

namespace {

constexpr const char* kAdvice =
    "--exe FILE, a copy of the same build that is not stripped; without it, leaks and --watch, "
    "which need no symbols";

struct Known {
  std::string_view name;
  MallocForm form;
  bool leads_on = false;
  bool is_led = false;
  bool is_needed = false;
  bool must_call = false;  // hooked only if it calls a function that is hooked before it
};
constexpr std::array<Known, 6> kKnown{{
    {.name = "malloc", .form = MallocForm::Size, .is_led = true, .is_needed = true},
    {.name = "realloc", .form = MallocForm::Resize, .leads_on = true},
    {.name = "aligned_alloc", .form = MallocForm::Aligned, .leads_on = true},
    {.name = "calloc", .form = MallocForm::Count, .must_call = true},
    {.name = "posix_memalign", .form = MallocForm::Storing, .must_call = true},
    {.name = "free", .form = MallocForm::Free, .is_needed = true},
}};

std::optional<RemoteAddr> find_function(const Module& library,
                                        const ReachedCode& reader,
                                        std::string_view name) {
  auto symbol = library.find_symbol(fmt::format("__libc_{}_impl", name));
  if (!symbol) symbol = library.find_symbol(name);
  if (!symbol || !symbol->is_function) return std::nullopt;
  return reader.follow(symbol->address);
}

// Whether the function calls one that is hooked already.
bool calls_hooked(const Reached& function, const std::vector<MallocEntry>& hooked) {
  return std::ranges::any_of(hooked, [&](const MallocEntry& one) {
    return std::ranges::find(function.calls, one.entry.at) != function.calls.end();
  });
}

MallocEntry entry_of(const Module& library, const Reached& function, const Known& known) {
  const std::uint64_t bytes = function.end - function.at;
  const auto code = library.file_bytes(function.at).first(bytes);
  return {.entry = {.name = std::string(known.name),
                    .at = function.at,
                    .code = {code.begin(), code.end()},
                    .leads_on = known.leads_on,
                    .is_led = known.is_led,
                    .inner = {function.at, bytes}},
          .form = known.form};
}

Error missing(const Module& library, const Known& known, bool has_symbol) {
  const std::string why =
      has_symbol ? fmt::format("the code of {} in {} cannot be read", known.name, library.name())
                 : fmt::format("{} has no symbol for {}", library.name(), known.name);
  return Error{ErrorKind::Impossible, why}.advise(kAdvice);
}

}  // namespace

Result<std::vector<MallocEntry>> find_musl(const Module& library, const MemoryReader& memory) {
  const Disassembler disassembler = HA_TRY(Disassembler::open(library.machine()));
  const ReachedCode reader(library, memory, disassembler, [&](RemoteAddr at) {
    const auto symbol = library.symbol_at(at);
    return symbol && symbol->is_function && symbol->address == at;
  });
  std::vector<MallocEntry> found;
  for (const Known& known : kKnown) {
    const auto at = find_function(library, reader, known.name);
    const auto function = at ? reader.read(*at) : std::nullopt;
    if (!function && (at || known.is_needed)) return missing(library, known, at.has_value());
    if (!function || (known.must_call && !calls_hooked(*function, found))) continue;
    found.push_back(entry_of(library, *function, known));
  }
  return found;
}

}  // namespace heapattach::trace
