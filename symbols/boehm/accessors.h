#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symbols/boehm/evaluator.h"
#include "symbols/boehm/layout.h"
#include "symbols/elf/module.h"

namespace heapattach::boehm {

// The code and the constants of one module, which must outlive it, as must `memory`.
[[nodiscard]] CodeSource code_of(const Module& module, const MemoryReader& memory);

// What GC_size and GC_get_kind_and_size say about the layout.
struct AccessorLayout {
  // Complete but for `all_nils`; flags and descriptor are those that follow kind and size.
  Layout layout;
  RemoteAddr all_nils;                // the empty index, or the variable that points to it …
  bool all_nils_is_variable = false;  // … if this is set
};

// Learns from the machine code of accessor functions of the collector.
class AccessorReader {
 public:
  AccessorReader(const Disassembler& disassembler, const CodeSource& source)
      : disassembler_(disassembler), source_(source) {}

  // From GC_size, and GC_get_kind_and_size where there is one (it is new in release 8.0). Malformed
  // if the code is not of the shape that every release has had; the message names what is missing.
  Result<AccessorLayout> read_layout(RemoteAddr size, std::optional<RemoteAddr> kind_and_size);

  // A function that returns a variable, or one less another.
  struct Difference {
    RemoteAddr variable;
    std::optional<RemoteAddr> less;
  };
  std::optional<Difference> read_counter(RemoteAddr function);
  // A function that returns a constant.
  std::optional<std::uint64_t> read_constant(RemoteAddr function);

  // The variable in which a function keeps its first argument.
  std::optional<RemoteAddr> read_setter(RemoteAddr function);

  // The table of bytes in which a function sets the one that its first argument numbers.
  std::optional<RemoteAddr> read_flag_table(RemoteAddr function);

  // The variables that tell that a collection is under way, from GC_collect_a_little, which sets
  // one of them around its work and returns whether the other is not 0, or from
  // GC_collection_in_progress, which does only the latter.
  struct Activity {
    std::optional<RemoteAddr> collecting;  // one byte, 1 while a step runs
    std::optional<RemoteAddr> mark_state;  // an int, 0 between collections
  };
  Activity read_activity(RemoteAddr function);

 private:
  const Disassembler& disassembler_;
  const CodeSource& source_;
};

}  // namespace heapattach::boehm
