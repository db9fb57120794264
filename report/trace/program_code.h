#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/code/disassembler.h"
#include "symbols/elf/module.h"

namespace heapattach::trace {

// The functions of a program without symbols, by its call frame information, and the addresses that
// they name. An address counts as named only if an instruction of a known function names it, when
// the function is decoded from its start. Borrows everything.
class ProgramCode {
 public:
  ProgramCode(const Module& program,
              const MemoryReader& memory,
              const Disassembler& disassembler,
              std::vector<Range> functions);

  // Sorted.
  [[nodiscard]] std::span<const Range> functions() const { return functions_; }
  // The function that contains the address; null if there is none.
  [[nodiscard]] const Range* function_at(RemoteAddr at) const;

  // The functions that name an address in `data`, by their starts.
  [[nodiscard]] std::set<RemoteAddr> users_of(const Range& data) const;

  // The functions that a function calls or jumps to.
  [[nodiscard]] std::set<RemoteAddr> branches_of(const Range& function) const;

  // Which functions name each of these addresses.
  using Users = std::map<RemoteAddr, std::set<RemoteAddr>>;
  [[nodiscard]] Users users_of(const std::set<RemoteAddr>& addresses) const;

  // Those of `addresses` that a word of the program's data contains.
  [[nodiscard]] std::set<RemoteAddr> in_data(const std::set<RemoteAddr>& addresses) const;

  // A function's code; empty if the file has only a part of it.
  [[nodiscard]] std::span<const std::byte> code_of(const Range& function) const;

 private:
  using IsWanted = std::function<bool(RemoteAddr)>;
  [[nodiscard]] Users users_where(const IsWanted& is_wanted) const;
  void each_named(const Range& function, const std::function<void(RemoteAddr)>& visit) const;

  const Module& program_;
  const MemoryReader& memory_;
  const Disassembler& disassembler_;
  std::vector<Range> functions_;
};

}  // namespace heapattach::trace
