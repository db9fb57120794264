#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gelf.h>

namespace heapattach::unwind {

// Reads the function names that distributions keep in stripped programs (.gnu_debugdata, "mini
// debug info"): an xz-compressed ELF file with a symbol table. Use this in a sandbox.
class MiniSymbols {
 public:
  explicit MiniSymbols(Elf* elf);  // may be null

  // The function around `pc`, an address as linked; empty if unknown.
  [[nodiscard]] std::string at(std::uint64_t pc) const;

 private:
  struct EndElf {
    void operator()(Elf* elf) const noexcept;
  };
  struct Function {
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    std::string name;
  };
  void read(Elf* elf);
  void add(const GElf_Sym& symbol, const char* name);  // `name` may be null

  std::vector<Function> functions_;  // by address
};

// The contents of an xz stream; empty if this is no xz stream, or if it has more than `limit`
// bytes.
[[nodiscard]] std::vector<char> unpack_xz(std::span<const std::byte> packed, std::size_t limit);

}  // namespace heapattach::unwind
