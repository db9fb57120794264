#include "symbols/elf/skeleton.h"

#include <dwarf.h>

#include "symbols/elf/dwarf_entry.h"

namespace heapattach::types {
namespace {

std::string text_at(Dwarf_Die die, unsigned attribute) {
  Dwarf_Attribute found;
  const char* text = dwarf_formstring(dwarf_attr(&die, attribute, &found));
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace

std::optional<std::uint64_t> unit_id(const Dwarf_Die& root) {
  if (const auto id = number_at(root, DW_AT_GNU_dwo_id)) return id;
  Dwarf_Half version = 0;
  std::uint8_t kind = 0;
  std::uint64_t id = 0;
  if (dwarf_cu_info(root.cu, &version, &kind, nullptr, nullptr, &id, nullptr, nullptr) != 0 ||
      (kind != DW_UT_skeleton && kind != DW_UT_split_compile)) {
    return std::nullopt;
  }
  return id;
}

std::optional<Skeleton> skeleton_of(const Dwarf_Die& root) {
  std::string name = text_at(root, DW_AT_dwo_name);
  if (name.empty()) name = text_at(root, DW_AT_GNU_dwo_name);
  const auto id = unit_id(root);
  if (name.empty() || !id) return std::nullopt;
  Skeleton skeleton{.name = std::move(name), .directory = text_at(root, DW_AT_comp_dir), .id = *id};
  const auto gnu_addresses = number_at(root, DW_AT_GNU_addr_base);
  skeleton.addresses = number_at(root, DW_AT_addr_base).value_or(gnu_addresses.value_or(0));
  skeleton.ranges = number_at(root, DW_AT_GNU_ranges_base).value_or(0);
  Dwarf_Die at = root;
  if (dwarf_lowpc(&at, &skeleton.low_pc) != 0) skeleton.low_pc = 0;
  return skeleton;
}

}  // namespace heapattach::types
