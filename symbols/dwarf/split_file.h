#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

#include "symbols/dwarf/split_sections.h"

namespace heapattach::types {

// The index of a package of split units (.debug_cu_index and .debug_tu_index of a .dwp): which part
// of each section belongs to a unit. Reads the GNU format for DWARF 4 (version 2) and the DWARF 5
// format.
class PackageIndex {
 public:
  struct Part {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
  };
  struct Row {
    Part info;
    Part type_units;  // before DWARF 5
    Part abbreviations;
    Part lines;
    Part locations;
    Part ranges;
    Part string_offsets;
  };

  PackageIndex() = default;
  // Skips what cannot be read. The caller must check that the parts are inside their sections.
  explicit PackageIndex(std::span<const std::byte> section);

  [[nodiscard]] const std::map<std::uint64_t, Row>& rows() const { return rows_; }  // by unit's id

 private:
  std::map<std::uint64_t, Row> rows_;
};

// A file of split debug information: a .dwo with one unit, or a package of many. Parses untrusted
// data, so use it in a sandbox.
class SplitFile {
 public:
  // `file` has the bytes of the file. libelf writes to them, and they must outlive this object.
  explicit SplitFile(std::span<std::byte> file);

  [[nodiscard]] bool has(std::uint64_t id) const;
  // The sections of the unit with this id. They are valid for as long as this object exists or, for
  // a unit in a package, until the next call.
  std::optional<SplitSections> sections_of(std::uint64_t id);

 private:
  using Bytes = SplitSections::Bytes;
  struct EndElf {
    void operator()(Elf* elf) const noexcept;
  };
  struct Unit {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  void find_sections();
  void take_section(Elf_Scn* handle, bool is_compressed, std::string name);
  void find_units();
  void find_old_units();
  [[nodiscard]] Bytes section(std::string_view name) const;
  SplitSections of_file(const Unit& unit);
  SplitSections of_package(const PackageIndex::Row& row);
  void gather_type_units(const PackageIndex::Row& unit);
  Bytes gather_strings(Bytes offsets);

  std::unique_ptr<Elf, EndElf> elf_;
  std::map<std::string, Bytes, std::less<>> sections_;                 // by name, without ".dwo"
  std::map<std::string, std::vector<std::byte>, std::less<>> joined_;  // sections that share a name
  std::map<std::uint64_t, Unit> units_;  // of .debug_info, by id; none in a package
  PackageIndex index_;
  std::unordered_multimap<std::uint32_t, PackageIndex::Row> type_rows_;  // by their abbreviations
  std::vector<std::byte> type_units_;
  std::vector<std::byte> strings_;
  std::vector<std::byte> string_offsets_;
};

}  // namespace heapattach::types
