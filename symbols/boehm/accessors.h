#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symbols/boehm/arch/evaluator.h"
#include "symbols/boehm/layout.h"
#include "symbols/elf/module.h"

namespace heapattach::boehm {

// The code and the constants of one module. The module and `memory` must outlive the result.
[[nodiscard]] CodeSource code_of(const Module& module, const MemoryReader& memory);

// The layout learned from GC_size and GC_get_kind_and_size.
struct AccessorLayout {
  // The layout, complete except for `all_nils`. The offsets of flags and descriptor follow from
  // those of kind and size.
  Layout layout;
  RemoteAddr all_nils;                // the empty index, or a variable that points to it
  bool all_nils_is_variable = false;  // `all_nils` is such a variable
};

// Learns the layout from the machine code of the collector's accessor functions.
class AccessorReader {
 public:
  AccessorReader(const Disassembler& disassembler, const CodeSource& source)
      : disassembler_(disassembler), source_(source) {}

  // Reads GC_size, and GC_get_kind_and_size if it exists (since release 8.0). Returns Malformed if
  // the code does not look as in every known release; the message names the missing part.
  Result<AccessorLayout> read_layout(RemoteAddr size, std::optional<RemoteAddr> kind_and_size);

  // Reads a function that returns a variable, or the difference of two variables.
  struct Difference {
    RemoteAddr variable;
    std::optional<RemoteAddr> less;
  };
  std::optional<Difference> read_counter(RemoteAddr function);
  // Reads a function that returns a sum of 8-byte variables.
  std::optional<std::vector<RemoteAddr>> read_sum(RemoteAddr function);
  // Reads a function that returns a constant.
  std::optional<std::uint64_t> read_constant(RemoteAddr function,
                                             const EvaluationLimits& limits = {});

  // Finds the variable in which a function stores its first argument.
  std::optional<RemoteAddr> read_setter(RemoteAddr function);

  // Finds the byte table in which a function sets the entry selected by its first argument.
  std::optional<RemoteAddr> read_flag_table(RemoteAddr function);

  // The variables that show whether a collection is running. GC_collect_a_little sets `collecting`
  // during its work, and returns whether `mark_state` is not 0. GC_collection_in_progress only
  // returns the latter.
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
