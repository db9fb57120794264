#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdw.h>

namespace heapattach::unwind {

// Where a function is declared.
struct DeclaredAt {
  std::string file;
  std::uint32_t line = 0;  // 0: unknown
};
[[nodiscard]] DeclaredAt declared_at(Dwarf_Die function);

// The instructions of the lines that Crystal's procs are written on. The function that makes a proc
// has some of them.
class ProcLines {
 public:
  // `dwarf` may be null: then there are none.
  explicit ProcLines(Dwarf* dwarf);

  [[nodiscard]] const std::vector<Dwarf_Addr>& at(const DeclaredAt& proc) const;

 private:
  using ByLine = std::map<std::uint32_t, std::vector<Dwarf_Addr>>;

  void add_procs(const Dwarf_Die& unit);
  void add_rows(Dwarf_Die unit);

  std::map<std::string, ByLine, std::less<>> files_;
};

}  // namespace heapattach::unwind
