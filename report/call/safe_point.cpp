#include "report/call/safe_point.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "attach/base/word.h"

namespace heapattach {

namespace {

using unwind::FoundBy;
using unwind::StackEnd;

// A stack may have at most this many bytes above the frame of its first function.
constexpr std::uint64_t kMostAboveFirst = 512;

enum class Kind : std::uint8_t { Program, Library, Collector, Allocator, Loader };

template <std::size_t N>
bool begins_with_one(std::string_view text, const std::array<std::string_view, N>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

// Whether the code is an allocation function, by any of its names. A C library without its symbol
// table still has the names that it exports, and one of these precedes each function that has none.
bool is_allocator(const CodeName& code) {
  constexpr std::array<std::string_view, 3> kModules{"libjemalloc", "libtcmalloc", "libmimalloc"};
  constexpr std::array<std::string_view, 22> kNames{"malloc",         "free",
                                                    "calloc",         "realloc",
                                                    "cfree",          "memalign",
                                                    "posix_memalign", "aligned_alloc",
                                                    "valloc",         "pvalloc",
                                                    "reallocarray",   "mallinfo",
                                                    "mallinfo2",      "malloc_trim",
                                                    "malloc_stats",   "malloc_info",
                                                    "mallopt",        "__libc_malloc",
                                                    "__libc_free",    "__libc_calloc",
                                                    "__libc_realloc", "malloc_usable_size"};
  constexpr std::array<std::string_view, 11> kBeginnings{
      "_int_malloc", "_int_free", "_int_realloc", "_int_memalign", "sysmalloc", "systrim",
      "malloc_",     "tcache_",   "__libc_mem",   "_rjem_",        "je_"};
  return begins_with_one(code.module, kModules) || begins_with_one(code.function, kBeginnings) ||
         std::find(kNames.begin(), kNames.end(), code.function) != kNames.end();
}

bool is_loader(const CodeName& code) {
  constexpr std::array<std::string_view, 5> kBeginnings{"_dl_", "dlopen", "dlsym", "dlclose",
                                                        "dl_iterate_phdr"};
  // In musl, the loader and the C library are one file.
  const bool is_own_module = code.module.starts_with("ld-") && !code.module.starts_with("ld-musl");
  return is_own_module || begins_with_one(code.function, kBeginnings);
}

Kind kind_of(const CodeName& code) {
  constexpr std::array<std::string_view, 5> kLibraries{"libc.so", "libc-", "libpthread", "ld-musl",
                                                       "libc.musl"};
  if (code.module.starts_with("libgc.") || code.function.starts_with("GC_")) return Kind::Collector;
  if (is_allocator(code)) return Kind::Allocator;
  if (is_loader(code)) return Kind::Loader;
  return begins_with_one(code.module, kLibraries) ? Kind::Library : Kind::Program;
}

std::string in_what(Kind kind, const CodeName& code) {
  const std::string name = code.function.empty() ? std::string() : " (" + code.function + ")";
  switch (kind) {
    case Kind::Collector: return "it is in the collector" + name;
    case Kind::Allocator: return "it is in malloc or free" + name;
    case Kind::Loader: return "it is in the dynamic loader" + name;
    case Kind::Library: return "it is inside the C library" + name;
    case Kind::Program: break;
  }
  return "it runs" + name;
}

bool is_followed_to_its_end(const WalkedThread& thread) {
  const unwind::StackRecord& stack = thread.stack;
  if (stack.frames.empty() || stack.left_out > 0) return false;
  const bool is_guessed =
      std::any_of(stack.frames.begin(), stack.frames.end(),
                  [](const unwind::FrameRecord& frame) { return frame.found_by == FoundBy::Scan; });
  if (is_guessed || stack.end == StackEnd::Corrupt || stack.end == StackEnd::Limit) return false;
  return stack.end == StackEnd::Outermost || thread.unseen_bytes <= kMostAboveFirst;
}

}  // namespace

std::optional<std::string> objection_to_stack(const WalkedThread& thread,
                                              const NameOfCode& name_of) {
  const auto& frames = thread.stack.frames;
  const bool is_in_handler = std::any_of(
      frames.begin(), frames.end(),
      [](const unwind::FrameRecord& frame) { return frame.found_by == FoundBy::SignalFrame; });
  if (is_in_handler) return "it is in a signal handler";
  if (!is_followed_to_its_end(thread)) return "its stack cannot be unwound to the end";
  std::vector<CodeName> names;
  names.reserve(frames.size());
  for (const unwind::FrameRecord& frame : frames) names.push_back(name_of(frame.pc));
  // Skips the outermost frames, which belong to the functions that start threads.
  std::size_t first = names.size();
  while (first > 0) {
    const Kind kind = kind_of(names[first - 1]);
    if (kind != Kind::Library && kind != Kind::Collector) break;
    --first;
  }
  if (first == 0) return "it runs none of the program's own code";
  for (std::size_t i = 0; i < first; ++i) {
    const Kind kind = kind_of(names[i]);
    const bool is_between = kind == Kind::Library && (i > 0 || thread.is_in_call);
    if (kind != Kind::Program && !is_between) return in_what(kind, names[i]);
  }
  return std::nullopt;
}

SafePoint safe_point_of(const unwind::StackRecord& stack,
                        const Registers& registers,
                        const Range& function,
                        const MemoryReader& memory) {
  SafePoint point{.tid = stack.thread,
                  .instruction = registers.instruction_pointer,
                  .function = function,
                  .stack_pointer = registers.stack_pointer,
                  .is_in_call = registers.system_call.has_value(),
                  .returns = {}};
  for (const unwind::FrameRecord& frame : stack.frames) {
    if (frame.cfa.value == 0) continue;
    const RemoteAddr at = frame.cfa - kWordBytes;
    if (const auto to = memory.read_as<std::uint64_t>(at)) point.returns.emplace_back(at, *to);
  }
  return point;
}

bool is_still_there(const SafePoint& point, const Registers& now, const MemoryReader& memory) {
  if (now.stack_pointer != point.stack_pointer) return false;
  if (now.system_call.has_value() != point.is_in_call) return false;
  const RemoteAddr at = now.instruction_pointer;
  if (at != point.instruction && !point.function.contains(at)) return false;
  return std::all_of(point.returns.begin(), point.returns.end(), [&](const auto& expected) {
    const auto to = memory.read_as<std::uint64_t>(expected.first);
    return to && *to == expected.second;
  });
}

}  // namespace heapattach
