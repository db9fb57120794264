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

// The instructions of the source lines that contain Crystal's procs. The function that makes a proc
// has some of these instructions.
class ProcLines {
 public:
  // `dwarf` may be null; there are no lines then.
  explicit ProcLines(Dwarf* dwarf);

  [[nodiscard]] const std::vector<Dwarf_Addr>& at(const DeclaredAt& proc) const;

 private:
  using ByLine = std::map<std::uint32_t, std::vector<Dwarf_Addr>>;

  void add_procs(const Dwarf_Die& unit);
  void add_rows(Dwarf_Die unit);

  std::map<std::string, ByLine, std::less<>> files_;
};

// libdw's view of the files of one module. Unless a comment says otherwise, address arguments are
// those of the file, which are lower than those of the target by the module's bias.
class ModuleDebug {
 public:
  explicit ModuleDebug(const Module& module);

  [[nodiscard]] const Module& module() const { return *module_; }
  [[nodiscard]] std::uint64_t bias() const { return module_->bias(); }
  [[nodiscard]] Dwarf* dwarf();  // null if it has no debug information
  // The split unit of the skeleton with this root, or the root itself if the unit was not split.
  // Nothing if the split unit is missing.
  [[nodiscard]] std::optional<Dwarf_Die> whole_unit(const Dwarf_Die& root);
  [[nodiscard]] const CodeUnits& units();
  [[nodiscard]] const ProcLines& proc_lines();
  // The name of the function around `pc`, an address in the target, for a function without a
  // symbol: from compressed symbols, or as the stub of another function, "getppid@plt".
  [[nodiscard]] std::string name_without_symbol(RemoteAddr pc);

  // How a frame at `pc` finds its caller, from the tables for exceptions, or else from those for
  // debuggers. Null if neither covers `pc`.
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

// The ModuleDebug of every module, which is made on first use. It parses untrusted data, so use
// this in a sandbox. Borrows the modules.
class ModuleDebugs {
 public:
  explicit ModuleDebugs(const Modules& modules);

  // The ModuleDebug of the module whose executable memory contains `pc`; null if there is none.
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
