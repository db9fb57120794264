#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/memory/memory_reader.h"
#include "attach/process/process.h"
#include "symbols/elf/companions.h"
#include "symbols/elf/debug_server.h"

namespace heapattach {

// A loaded segment of a module, at its address in the target.
struct Segment {
  Range range;  // in memory, including parts that are not in the file (bss)
  bool writable = false;
  bool executable = false;
};

struct Symbol {
  std::string_view name;  // mangled, as in the file; valid for as long as its Module exists
  RemoteAddr address;
  std::uint64_t bytes = 0;
  bool is_function = false;
};

// An executable or shared library that is loaded in the target, and its symbols. Symbols and bytes
// are read from the file on first use; not safe for several threads at once.
class Module {
 public:
  struct Contents;  // the ELF files and symbol tables, module_contents.h

  explicit Module(std::unique_ptr<Contents> contents);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;

  // Creates the module of an ELF file that is loaded at `bias`. For core files and tests.
  static Result<Module> from_file(Fd file, std::string path, std::uint64_t bias);

  [[nodiscard]] const std::string& path() const;      // as the target names it
  [[nodiscard]] const std::string& name() const;      // its last component
  [[nodiscard]] const std::string& build_id() const;  // lower-case hex; empty if it has none
  [[nodiscard]] std::uint16_t machine() const;        // e_machine; this machine's if it has no file
  [[nodiscard]] bool is_main_program() const;
  [[nodiscard]] std::uint64_t bias() const;  // RemoteAddr - FileAddr
  [[nodiscard]] std::span<const Segment> segments() const;
  // Made read-only after relocation (PT_GNU_RELRO): never a root, and constant since start-up.
  [[nodiscard]] std::optional<Range> relro() const;
  [[nodiscard]] bool contains(RemoteAddr at) const;

  // Defined functions and objects from .symtab, .dynsym and a separate debug file, by address,
  // without duplicates.
  [[nodiscard]] std::span<const Symbol> symbols() const;
  // The symbols whose names begin with `prefix`, unordered; much cheaper than all symbols.
  [[nodiscard]] std::vector<Symbol> symbols_with_prefix(std::string_view prefix) const;
  [[nodiscard]] std::optional<Symbol> find_symbol(std::string_view name) const;
  // The symbol that covers `at`.
  [[nodiscard]] std::optional<Symbol> symbol_at(RemoteAddr at) const;

  // The file's bytes for the memory at `at`, up to the end of the file part of their segment; empty
  // outside segments. Allows code and constants to be read without touching the target.
  [[nodiscard]] std::span<const std::byte> file_bytes(RemoteAddr at) const;

  // The module's own file, which contains its call frame information; empty if there is none. See
  // debug_file() for its lifetime.
  [[nodiscard]] const Fd& file() const;

  // The separate debug file in use, otherwise the module's own file; empty if there is neither.
  // Valid as long as the module. For libdw.
  [[nodiscard]] const Fd& debug_file() const;

  // The other files with parts of its debug information.
  [[nodiscard]] std::span<const Companion> companions() const;

  // Messages about what was found or missing, for -v: "symbols from /usr/lib/debug/…", and warnings
  // such as a debug file whose build id differs.
  [[nodiscard]] const std::vector<std::string>& notes() const;

 private:
  std::unique_ptr<Contents> contents_;
};

// Places to search for symbols other than the target's own files.
struct SymbolSearch {
  std::string exe;                      // --exe: instead of the target's program
  std::vector<std::string> debug_dirs;  // --debug-dir, before /usr/lib/debug
  std::string sysroot;                  // --sysroot: instead of /proc/<pid>/root
  std::shared_ptr<DebugServer> server;  // asked for debug files that are nowhere; null: none
};

// The modules mapped in a process. A module whose file cannot be read or parsed is listed without
// symbols and with a note; that is not an error. The same applies if the file differs from what the
// target has in memory, by build id.
class Modules {
 public:
  static Result<Modules> load(const Process& process,
                              const MemoryReader& memory,
                              const MemoryMap& map,
                              const SymbolSearch& search,
                              const Deadline& deadline = {});
  explicit Modules(std::vector<Module> modules) : modules_(std::move(modules)) {}

  [[nodiscard]] std::span<const Module> all() const { return modules_; }
  [[nodiscard]] const Module* find(RemoteAddr at) const;
  [[nodiscard]] const Module* main_program() const;
  // The first definition of `name` in load order, as the dynamic linker would choose.
  [[nodiscard]] std::optional<Symbol> find_symbol(std::string_view name) const;

 private:
  std::vector<Module> modules_;  // the main program first
};

}  // namespace heapattach
