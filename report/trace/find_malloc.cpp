// In glibc, all of malloc's functions are compiled together, so their code is contiguous. They call
// each other like this, in all releases since 2.26:
//
//     realloc(null, size)                           jumps to malloc
//     realloc, where a mapped block cannot grow     calls malloc and free
//     aligned_alloc, memalign, valloc, pvalloc      jump to malloc if it aligns well enough
//     posix_memalign                                calls malloc in that case
//
// calloc, and the aligned functions in other cases, share only internal functions with malloc. So
// allocations are counted at the outermost function: malloc's calls from malloc's own code do not
// count, nor does a jump to it from one of the others.

#include "report/trace/find_malloc.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "report/trace/arch/branches.h"
#include "report/trace/find_musl.h"
#include "report/trace/find_stripped.h"
#include "symbols/malloc/source.h"
#include "symbols/musl/source.h"

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

// The C library, or the program that contains it: only glibc defines these functions.
const Module* find_glibc(const Modules& modules) {
  const auto all = modules.all();
  const auto found = std::ranges::find_if(all, [](const Module& module) {
    return module.find_symbol("__libc_malloc") && module.find_symbol("__libc_free");
  });
  return found == all.end() ? nullptr : &*found;
}

// A function of malloc, preferably by the second name that only glibc gives it.
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

// Whether nothing but the C library and the loader defines malloc.
bool is_only_malloc(const Modules& modules, const Module* library) {
  const auto all = modules.all();
  return library != nullptr && std::ranges::none_of(all, [&](const Module& module) {
           const bool is_other = &module != library && !module.name().starts_with("ld-");
           return is_other && module.find_symbol("malloc").has_value();
         });
}

// Whether a signal has stopped the process, so that its memory stays as it is. A stop by a tracer,
// such as another trace that is being installed, ends soon, or is the reason why this trace cannot
// begin.
bool is_stopped(const Process& process) {
  const auto state = process.thread_state(process.pid());
  return state && state->state == 'T';
}

// Fails with Unsupported if the process does not allocate with the C library's malloc. malloc's own
// data show its heap, but a look may miss it while a busy program changes them. If no other module
// of a running program defines malloc, one look is enough: the program uses the library's.
// Otherwise this looks many times, however long that takes on a busy machine.
Result<void> check_use(snapshot::Opened& target,
                       const Request& request,
                       const Module* library,
                       const heap::Kind& kind) {
  constexpr std::chrono::milliseconds kPatience{500};
  constexpr std::chrono::milliseconds kBetweenLooks{5};
  constexpr int kLeastLooks = 50;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  const auto heap = HA_TRY(target.find_heap(kind, request.on_step, request.deadline));
  for (int looks = 1;; ++looks) {
    auto is_used = heap->check(target.modules, target.memory);
    if (is_used) return {};
    // A program that is about to start has no heap yet.
    const bool may_change = target.process && !is_stopped(*target.process);
    if (may_change && is_only_malloc(target.modules, library)) return {};
    const bool is_enough = looks >= kLeastLooks && std::chrono::steady_clock::now() >= until;
    if (!may_change || is_enough || request.deadline.has_passed()) return is_used;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Error no_symbols() {
  return Error{ErrorKind::Impossible, "the program has no symbols for malloc's functions"}.advise(
      kAdvice);
}

Result<std::vector<MallocEntry>> find_in_stripped(snapshot::Opened& target,
                                                  const Request& request,
                                                  bool may_copy,
                                                  std::vector<std::string>& notes) {
  auto found = find_stripped(target, request, may_copy);
  if (!found) {
    Error error = std::move(found).error();
    if (error.advice.empty()) error.advice = kAdvice;
    return error;
  }
  if (!may_copy) {
    notes.emplace_back(
        "malloc's functions have no symbols: a trace first calls them in a copy of the process");
  }
  return found;
}

Result<std::vector<MallocEntry>> find_in_glibc(snapshot::Opened& target, const Request& request) {
  const Module* const glibc = find_glibc(target.modules);
  HA_TRY(check_use(target, request, glibc, glibc::kHeapKind));
  if (glibc == nullptr) return no_symbols();
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

Result<std::vector<MallocEntry>> find_in_musl(snapshot::Opened& target,
                                              const Request& request,
                                              const heap::Source& musl,
                                              bool may_copy,
                                              std::vector<std::string>& notes) {
  const auto all = target.modules.all();
  const std::string name = musl.module(target.modules);
  const auto library =
      std::ranges::find_if(all, [&](const Module& module) { return module.name() == name; });
  const bool has_library = !name.empty() && library != all.end();
  HA_TRY(check_use(target, request, has_library ? &*library : nullptr, musl.kind()));
  if (!has_library) return find_in_stripped(target, request, may_copy, notes);
  return find_musl(*library, target.memory);
}

}  // namespace

Result<std::vector<MallocEntry>> find_malloc(snapshot::Opened& target,
                                             const Request& request,
                                             bool may_copy,
                                             std::vector<std::string>& notes) {
  const auto musl = target.find_heap(musl::kHeapKind, request.on_step, request.deadline);
  if (musl && !kReadsMusl) {
    return Error{ErrorKind::Impossible,
                 "heapattach cannot trace musl's malloc on this processor yet"};
  }
  return musl ? find_in_musl(target, request, **musl, may_copy, notes)
              : find_in_glibc(target, request);
}

}  // namespace heapattach::trace
