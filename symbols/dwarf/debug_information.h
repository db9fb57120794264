#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

#include "symbols/dwarf/split_file.h"
#include "symbols/dwarf/split_image.h"
#include "symbols/elf/companions.h"
#include "symbols/elf/skeleton.h"

namespace heapattach::types {

// The debug information of one module, read with libdw: a file, the supplementary file that dwz
// made, and the split units. Parses untrusted data, so use it in a sandbox. Entries are valid for
// as long as this object exists.
class DebugInformation {
 public:
  // `file` is open; `companions` is the result of find_companions() for it.
  DebugInformation(int file, std::span<const Companion> companions);

  [[nodiscard]] Dwarf* main() const { return main_.get(); }  // null if there is none
  // The root of the split unit for the skeleton unit with the root `skeleton`. None if
  // there is no split unit, or if it was not found; notes() reports the latter.
  std::optional<Dwarf_Die> split_off(const Dwarf_Die& skeleton);
  [[nodiscard]] static bool is_skeleton(const Dwarf_Die& root);
  // Descriptions of what could not be found, and why.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct EndElf {
    void operator()(Elf* elf) const noexcept;
  };
  struct EndDwarf {
    void operator()(Dwarf* dwarf) const noexcept;
  };
  struct Image {
    std::vector<std::byte> bytes;
    std::unique_ptr<Elf, EndElf> elf;
    std::unique_ptr<Dwarf, EndDwarf> dwarf;
    std::optional<Dwarf_Die> root;
  };

  void find_supplement(std::span<const Companion> companions);
  void learn_bases();
  void open_split_files();
  [[nodiscard]] std::span<const std::byte> section(std::string_view name) const;
  [[nodiscard]] SplitContext context_of(const Skeleton& skeleton) const;
  Image make_image(const Skeleton& skeleton);
  [[nodiscard]] std::string why_missing(const Skeleton& skeleton) const;

  std::span<const Companion> companions_;
  std::unique_ptr<Elf, EndElf> supplement_elf_;
  std::unique_ptr<Dwarf, EndDwarf> supplement_;
  std::unique_ptr<Dwarf, EndDwarf> main_;
  std::optional<std::vector<SplitFile>> split_files_;  // opened when first needed
  std::vector<std::uint64_t> address_bases_;           // of all skeletons, sorted
  std::vector<std::uint64_t> range_bases_;
  std::unordered_map<const void*, Image> images_;  // by the skeleton's root
  std::vector<std::string> missing_;               // units, with the reason
  std::string supplement_note_;
};

}  // namespace heapattach::types
