#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <libelf.h>

#include "symbols/elf/module.h"

namespace heapattach::unwind {

// The stubs through which a module calls functions of other modules (its procedure linkage table).
// A stub has no symbol, but it jumps through a word, whose relocation names the function.
class StubNames {
 public:
  // `elf` may be null; both must outlive this.
  StubNames(const Module& module, Elf* elf);

  // The function that the stub at `pc`, an address in the target, calls; empty if there is none.
  [[nodiscard]] std::string at(RemoteAddr pc) const;

 private:
  struct Stubs {
    std::uint64_t start = 0;  // as linked
    std::uint64_t bytes = 0;
    std::uint64_t each = 0;
  };
  void read_section(Elf* elf, Elf_Scn* section, std::size_t names);
  void read_relocations(Elf* elf, Elf_Scn* section, bool is_for_stubs);
  [[nodiscard]] std::string name_of(RemoteAddr stub, std::uint64_t bytes) const;

  const Module& module_;
  std::vector<Stubs> stubs_;
  std::unordered_map<std::uint64_t, std::string> by_word_;  // as linked
  std::vector<std::string> by_number_;                      // in .rela.plt
};

}  // namespace heapattach::unwind
