#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/mono/facts.h"

// The methods that Mono has compiled.
//
// A domain has a table of its compiled methods. The table's chunks have the addresses of up to 64
// records each, nearly in the order of the code. A record has the method, where the method's code
// begins, and how long the code is. The table is recognised by its first word, the address of its
// domain. (Sources: domain-internals.h and jit-info.c of 6.8.)
namespace heapattach::mono {

struct Method {
  Range code;
  std::string name;              // "Game.Bank.Transfer"
  std::vector<std::byte> start;  // its code, at most a MiB of it
};

struct Methods {
  std::vector<Method> found;          // by address
  std::vector<std::string> warnings;  // which names could not be believed
};

// The methods whose code contains any of these addresses. `words` need not be in order.
[[nodiscard]] Methods methods_at(const Facts& facts,
                                 std::vector<std::uint64_t> words,
                                 const MemoryReader& memory,
                                 const MemoryMap& map);

}  // namespace heapattach::mono
