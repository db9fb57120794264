#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/code/arch/branches.h"
#include "symbols/code/disassembler.h"
#include "symbols/elf/module.h"

namespace heapattach::trace {

// A function as far as its jumps reach.
struct Reached {
  RemoteAddr at;
  RemoteAddr end;
  std::vector<RemoteAddr> calls;   // the functions that it calls, or jumps to
  std::vector<RemoteAddr> direct;  // the same, but without following the jumps that they begin with
  std::set<RemoteAddr> named;      // the addresses that its instructions name

  [[nodiscard]] Range range() const { return {at, end - at}; }
};

// Reads functions of which only the start is known, as of musl, whose code has no unwind tables.
// Borrows everything.
class ReachedCode {
 public:
  // `is_entry`: whether a function that is known otherwise begins at an address.
  ReachedCode(const Module& module,
              const MemoryReader& memory,
              const Disassembler& disassembler,
              std::function<bool(RemoteAddr)> is_entry)
      : module_(module),
        memory_(memory),
        disassembler_(disassembler),
        is_entry_(std::move(is_entry)) {}

  // The function that does the work of the one at `at`: the end of a chain of jumps.
  [[nodiscard]] RemoteAddr follow(RemoteAddr at) const;

  // None if the code cannot be read.
  [[nodiscard]] std::optional<Reached> read(RemoteAddr at) const;

  // No function of malloc has more code, before or after its start.
  static constexpr std::uint64_t kMostCode = 8192;

 private:
  [[nodiscard]] const cs_insn* decode(RemoteAddr at) const;
  [[nodiscard]] std::optional<RemoteAddr> goal_of(const Branch& branch) const;
  using Instructions = std::map<RemoteAddr, std::uint64_t>;  // with their sizes
  [[nodiscard]] std::optional<Reached> read_until(RemoteAddr at,
                                                  RemoteAddr end,
                                                  Instructions& seen) const;
  bool read_run(RemoteAddr at,
                RemoteAddr end,
                Instructions& seen,
                std::vector<RemoteAddr>& next,
                Reached& reached) const;

  const Module& module_;
  const MemoryReader& memory_;
  const Disassembler& disassembler_;
  std::function<bool(RemoteAddr)> is_entry_;
};

}  // namespace heapattach::trace
