#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

#include "symbols/dwarf/debug_information.h"
#include "symbols/elf/module.h"
#include "symbols/unwind/code_units.h"
#include "symbols/unwind/mini_symbols.h"
#include "symbols/unwind/stub_names.h"

namespace heapattach::unwind {

// The source position where a function is declared.
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

// libdw's view of the files of one module. All address arguments are the file's: minus the module's
// bias.
class ModuleDebug {
 public:
  explicit ModuleDebug(const Module& module);

  [[nodiscard]] const Module& module() const { return *module_; }
  [[nodiscard]] std::uint64_t bias() const { return module_->bias(); }
  [[nodiscard]] Dwarf* dwarf();  // null if it has no debug information
  // The unit that was split off the one with this root; that one itself if it was not split. None
  // if the split unit is missing.
  [[nodiscard]] std::optional<Dwarf_Die> whole_unit(const Dwarf_Die& root);
  [[nodiscard]] const CodeUnits& units();
  [[nodiscard]] const ProcLines& proc_lines();
  // The name of the function around `pc`, an address in the target, if no symbol names it: from
  // compressed symbols, or as the stub of another, "getppid@plt".
  [[nodiscard]] std::string name_without_symbol(RemoteAddr pc);

  // How a frame at `pc` finds its caller: from the tables for exceptions, otherwise from those for
  // debuggers. Null if neither covers it.
  struct FreeFrame {
    void operator()(Dwarf_Frame* frame) const noexcept;
  };
  using FramePtr = std::unique_ptr<Dwarf_Frame, FreeFrame>;
  FramePtr frame_at(Dwarf_Addr pc);

 private:
  struct EndElf {
    void operator()(Elf* elf) const noexcept;
  };
  struct EndCfi {
    void operator()(Dwarf_CFI* cfi) const noexcept;
  };

  const Module* module_;
  std::unique_ptr<Elf, EndElf> elf_;  // null if there is no file
  std::unique_ptr<Dwarf_CFI, EndCfi> exception_tables_;
  std::optional<types::DebugInformation> information_;  // created on first use
  std::optional<CodeUnits> units_;
  std::optional<ProcLines> proc_lines_;
  std::optional<StubNames> stubs_;
  std::optional<MiniSymbols> mini_symbols_;
};

// The ModuleDebug of every module, each made on first use. Parses untrusted data: use it in a
// sandbox. Borrows the modules.
class ModuleDebugs {
 public:
  explicit ModuleDebugs(const Modules& modules);

  // For the module whose executable memory contains `pc`; null if there is none.
  ModuleDebug* find(RemoteAddr pc);
  [[nodiscard]] bool is_code(RemoteAddr at) const;

 private:
  struct Code {
    Range range;
    const Module* module = nullptr;
  };

  [[nodiscard]] const Module* module_of(RemoteAddr pc) const;

  std::vector<Code> code_;  // executable memory, by address
  std::unordered_map<const Module*, std::unique_ptr<ModuleDebug>> made_;
};

}  // namespace heapattach::unwind
