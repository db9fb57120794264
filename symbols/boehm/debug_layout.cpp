#include "symbols/boehm/debug_layout.h"

#include <bit>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>

namespace heapattach::boehm {

namespace {

constexpr std::uint64_t kWord = 8;

struct EndDwarf {
  void operator()(Dwarf* dwarf) const noexcept { dwarf_end(dwarf); }
};

struct Member {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
using Members = std::map<std::string, Member, std::less<>>;

Members members_of(Dwarf_Die& structure) {
  Members members;
  Dwarf_Die child;
  if (dwarf_child(&structure, &child) != 0) return members;
  do {
    const char* name = dwarf_diename(&child);
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (dwarf_tag(&child) != DW_TAG_member || name == nullptr ||
        dwarf_formudata(dwarf_attr(&child, DW_AT_data_member_location, &attribute), &offset) != 0) {
      continue;
    }
    Member& member = members[name];
    member.offset = offset;
    Dwarf_Die type;
    Dwarf_Word bytes = 0;
    if (dwarf_formref_die(dwarf_attr(&child, DW_AT_type, &attribute), &type) != nullptr &&
        dwarf_aggregate_size(&type, &bytes) == 0) {
      member.bytes = bytes;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return members;
}

// The three structures, as far as they were found.
struct Structures {
  Members header;  // struct hblkhdr
  Members bottom;  // struct bi
  Members arrays;  // struct _GC_arrays

  [[nodiscard]] bool are_complete() const {
    return !header.empty() && !bottom.empty() && !arrays.empty();
  }
  void add(Dwarf_Die& die) {
    const char* name = dwarf_diename(&die);
    if (dwarf_tag(&die) != DW_TAG_structure_type || name == nullptr) return;
    const std::string_view tag(name);
    if (tag == "hblkhdr" && header.empty()) header = members_of(die);
    if (tag == "bi" && bottom.empty()) bottom = members_of(die);
    if (tag == "_GC_arrays" && arrays.empty()) arrays = members_of(die);
  }
};

Structures find_structures(Dwarf* dwarf) {
  Structures found;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die unit_die;
  while (!found.are_complete() &&
         dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &unit_die, nullptr) == 0) {
    Dwarf_Die child;
    if (dwarf_child(&unit_die, &child) != 0) continue;
    do {
      found.add(child);
    } while (!found.are_complete() && dwarf_siblingof(&child, &child) == 0);
  }
  return found;
}

Result<Member> member(const Members& members, std::string_view name) {
  const auto found = members.find(name);
  if (found == members.end()) {
    return Error{ErrorKind::Unsupported, fmt::format("no member {}", name)};
  }
  return found->second;
}

// The number of pointers in an array, which is a power of two.
Result<std::uint64_t> entries(const Member& array) {
  const std::uint64_t count = array.bytes / kWord;
  if (array.bytes % kWord != 0 || !std::has_single_bit(count) || count > (1U << 24)) {
    return Error{ErrorKind::Malformed, fmt::format("an index of {} bytes", array.bytes)};
  }
  return count;
}

}  // namespace

Result<DebugLayout> read_debug_layout(const Fd& file) {
  const std::unique_ptr<Dwarf, EndDwarf> dwarf(dwarf_begin(file.get(), DWARF_C_READ));
  if (dwarf == nullptr) return Error{ErrorKind::Unsupported, "there is no debug information"};
  const Structures found = find_structures(dwarf.get());
  if (!found.are_complete()) {
    return Error{ErrorKind::Unsupported, "the debug information does not describe the collector"};
  }
  DebugLayout result;
  Layout& layout = result.layout;
  layout.source = Layout::Source::DebugInfo;
  layout.header_block = HA_TRY(member(found.header, "hb_block")).offset;
  layout.header_kind = HA_TRY(member(found.header, "hb_obj_kind")).offset;
  layout.header_flags = HA_TRY(member(found.header, "hb_flags")).offset;
  layout.header_size = HA_TRY(member(found.header, "hb_sz")).offset;
  layout.header_descriptor = HA_TRY(member(found.header, "hb_descr")).offset;
  const Member index = HA_TRY(member(found.bottom, "index"));
  layout.bottom_mask = HA_TRY(entries(index)) - 1;
  layout.bottom_key = HA_TRY(member(found.bottom, "key")).offset;
  layout.has_hash_chain = found.bottom.contains("hash_link");
  if (layout.has_hash_chain) layout.bottom_next = found.bottom.at("hash_link").offset;
  const Member top = HA_TRY(member(found.arrays, "_top_index"));
  layout.top_mask = HA_TRY(entries(top)) - 1;
  // No structure tells the size of a block; all default configurations have 4096 bytes.
  layout.top_shift = layout.block_shift + static_cast<unsigned>(std::popcount(layout.bottom_mask));
  result.top_index = top.offset;
  if (const auto nils = found.arrays.find("_all_nils"); nils != found.arrays.end()) {
    result.all_nils = nils->second.offset;
  }
  return result;
}

}  // namespace heapattach::boehm
