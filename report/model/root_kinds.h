#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The words of reports for each kind of root. A new kind is an enumerator and its row below, and
// report/collect/join_roots.cpp adds its roots to the snapshot.
namespace heapattach::snapshot {

enum class RootKind : std::uint8_t {
  Stack,
  Register,
  Global,
  ThreadLocal,
  Fiber,
  Uncollectable,
  Finalizer,
  CollectorTable,
  CollectorGarbage,
  SignalStack,
};

// The place of a root's word, which decides how the root is named.
enum class RootWord : std::uint8_t {
  InVariable,  // static memory: named by Root::symbol and Root::module
  OnStack,     // named by its thread or fiber, its frame, and its variable
  InRegister,  // Root::symbol is the register's name
  Elsewhere,   // the kind is all that can be said
};

// How well a root explains why an object is alive, the best first. The collector scans stacks word
// by word, so words left by a call that returned long ago keep objects alive just as variables do,
// but variables are what a reader looks for. A path from a better root is shown even if a path from
// a worse root is shorter. Globals and locals have the same quality: the shorter path is shown
// first, and of paths of the same length, the one from the global (analyze::RootOrder).
enum class RootQuality : std::uint8_t {
  Variable,         // a global, class variable or live local with a name; an uncollectable object
  LibraryVariable,  // a local of the C++ library, such as what a container holds while it grows
  Memory,           // static memory without a name
  Word,             // a word or register of a frame of the program's own code
  RuntimeWord,      // the same for a frame of a library that the program called, or for an unknown
                    // frame; a variable in a frame of the collector, the loader or an idle thread
  Collector,        // a variable of the collector or the loader, a table of finalizers
  Leftover,  // a word below the stack pointer, or in a frame of the collector, the loader or an
             // idle thread of the language's runtime
};

inline constexpr std::size_t kRootQualities = 7;

// The kinds of roots of Java's heap dumps (HeapGraphRoot.Type in Perfetto's heap_graph.proto).
enum class JavaRoot : std::uint8_t {
  Unknown = 0,
  NativeStack = 4,
  StickyClass = 5,  // what static variables reference
  ThreadObject = 8,
  Finalizing = 10,
  Internal = 13,
};

struct RootKindRow {
  RootKind kind{};
  // In saved snapshots and other JSON. Versions of this tool that do not know a kind refuse the
  // snapshot, so a new kind has the key of one that they know, and a symbol that tells them apart.
  std::string_view key;
  std::string_view symbol;
  RootWord word{};
  RootQuality quality{};  // the best: roots on stacks, in registers and variables may be worse
  int rank = 0;           // among roots of one quality; the lowest is shown first
  std::string_view one;   // the words for a root of this kind of which nothing else is known
  std::string_view all;   // the words for all roots of this kind
  std::string_view part;  // the label in graphs; after the name of the thread or fiber, if any
  std::string_view name;  // the name in Ruby's dumps, from a-z and _
  JavaRoot java{};        // the nearest of Java's kinds
};

inline constexpr std::array<RootKindRow, 10> kRootKinds{{
    {RootKind::Stack, "stack", "", RootWord::OnStack, RootQuality::Variable, 5, "a thread",
     "stacks of threads", "stack", "thread_stack", JavaRoot::NativeStack},
    {RootKind::Register, "register", "", RootWord::InRegister, RootQuality::Variable, 6, "a thread",
     "registers of threads", "registers", "thread_registers", JavaRoot::NativeStack},
    {RootKind::Global, "global", "", RootWord::InVariable, RootQuality::Variable, 0,
     "global memory", "global memory", "static data", "static_data", JavaRoot::StickyClass},
    {RootKind::ThreadLocal, "thread-local", "", RootWord::Elsewhere, RootQuality::Variable, 2,
     "a thread's own variable", "threads' own variables", "thread-local data", "thread_local",
     JavaRoot::ThreadObject},
    {RootKind::Fiber, "fiber", "", RootWord::OnStack, RootQuality::Variable, 4, "a fiber",
     "stacks of fibers", "stack", "fiber_stack", JavaRoot::NativeStack},
    {RootKind::Uncollectable, "uncollectable", "", RootWord::Elsewhere, RootQuality::Variable, 3,
     "allocated as uncollectable", "uncollectable objects", "uncollectable objects",
     "uncollectable", JavaRoot::Internal},
    {RootKind::Finalizer, "finalizer", "", RootWord::Elsewhere, RootQuality::Collector, 7,
     "kept for a finalizer", "finalizers", "finalizers", "finalizers", JavaRoot::Finalizing},
    // An object in which the collector keeps its finalizers, types or free lists.
    {RootKind::CollectorTable, "finalizer", "(table of the collector)", RootWord::Elsewhere,
     RootQuality::Collector, 7, "a table of the collector", "tables of the collector",
     "tables of the collector", "collector_tables", JavaRoot::Internal},
    // An object that the collector will free and that is not in the snapshot. What it references
    // in malloc's heap is in use until then.
    {RootKind::CollectorGarbage, "global", "(garbage of the collector)", RootWord::Elsewhere,
     RootQuality::Variable, 0, "(garbage of the collector)", "(garbage of the collector)",
     "garbage of the collector", "collector_garbage", JavaRoot::Unknown},
    // An allocation that only the kernel references.
    {RootKind::SignalStack, "global", "(signal stack)", RootWord::Elsewhere, RootQuality::Variable,
     0, "(signal stack)", "(signal stack)", "signal stack", "signal_stack", JavaRoot::NativeStack},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < kRootKinds.size(); ++i) {
        if (kRootKinds[i].kind != static_cast<RootKind>(i)) return false;
      }
      return true;
    }(),
    "the rows are in the order of the enumerators");

[[nodiscard]] constexpr const RootKindRow& root_kind(RootKind kind) {
  return kRootKinds[static_cast<std::size_t>(kind)];
}

// The row of a saved root; null if no kind has this key. An older snapshot may have any symbol.
[[nodiscard]] constexpr const RootKindRow* find_root_kind(std::string_view key,
                                                          std::string_view symbol) {
  const RootKindRow* found = nullptr;
  for (const RootKindRow& row : kRootKinds) {
    const bool is_special = !row.symbol.empty();
    if (row.key != key || (is_special && row.symbol != symbol)) continue;
    if (found == nullptr || is_special) found = &row;
  }
  return found;
}

}  // namespace heapattach::snapshot
