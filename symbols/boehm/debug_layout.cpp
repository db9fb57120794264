#include "symbols/boehm/debug_layout.h"

#include <bit>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>

#include "attach/base/word.h"
#include "attach/sandbox/sandbox.h"
#include "symbols/elf/file_share.h"

namespace heapattach::boehm {

namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

// The worker's result: offsets of members and sizes of arrays, kNone for what is missing.
struct Numbers {
  std::uint64_t has_all = 0;  // the three structures; 0 or 1
  std::uint64_t block = kNone;
  std::uint64_t kind = kNone;
  std::uint64_t flags = kNone;
  std::uint64_t size = kNone;
  std::uint64_t descriptor = kNone;
  std::uint64_t index_bytes = kNone;
  std::uint64_t key = kNone;
  std::uint64_t hash_link = kNone;
  std::uint64_t top = kNone;
  std::uint64_t top_bytes = kNone;
  std::uint64_t nils = kNone;
};

struct EndDwarf {
  void operator()(Dwarf* dwarf) const noexcept { dwarf_end(dwarf); }
};

struct Member {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
using Members = std::map<std::string, Member, std::less<>>;

// A reference backwards, which no compiler writes, would cause a loop.
bool to_sibling(Dwarf_Die& die) {
  const void* const before = die.addr;
  return dwarf_siblingof(&die, &die) == 0 && std::less<>()(before, die.addr);
}

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
  } while (to_sibling(child));
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
    } while (!found.are_complete() && to_sibling(child));
  }
  return found;
}

Numbers numbers_of(const Structures& found) {
  const auto offset = [](const Members& members, std::string_view name) {
    const auto at = members.find(name);
    return at == members.end() ? kNone : at->second.offset;
  };
  const auto bytes = [](const Members& members, std::string_view name) {
    const auto at = members.find(name);
    return at == members.end() ? kNone : at->second.bytes;
  };
  Numbers numbers;
  numbers.has_all = found.are_complete() ? 1 : 0;
  numbers.block = offset(found.header, "hb_block");
  numbers.kind = offset(found.header, "hb_obj_kind");
  numbers.flags = offset(found.header, "hb_flags");
  numbers.size = offset(found.header, "hb_sz");
  numbers.descriptor = offset(found.header, "hb_descr");
  numbers.index_bytes = bytes(found.bottom, "index");
  numbers.key = offset(found.bottom, "key");
  numbers.hash_link = offset(found.bottom, "hash_link");
  numbers.top = offset(found.arrays, "_top_index");
  numbers.top_bytes = bytes(found.arrays, "_top_index");
  numbers.nils = offset(found.arrays, "_all_nils");
  return numbers;
}

// Runs in the worker.
Numbers parse(int file) {
  const std::unique_ptr<Dwarf, EndDwarf> dwarf(dwarf_begin(file, DWARF_C_READ));
  return dwarf == nullptr ? Numbers{} : numbers_of(find_structures(dwarf.get()));
}

Result<Numbers> parse_in_sandbox(const Fd& file, const Deadline& deadline) {
  SandboxLimits limits;
  limits.deadline = deadline;
  limits.time = std::chrono::seconds(10);
  limits.memory_bytes = memory_to_read(stored_bytes(file));
  limits.output_bytes = sizeof(Numbers);
  limits.descriptors = {file.get()};
  const SandboxResult result = HA_TRY(run_sandboxed(
      [&file](SandboxOutput& out) {
        const Numbers numbers = parse(file.get());
        out.write(std::as_bytes(std::span(&numbers, 1)));
      },
      limits));
  Numbers numbers;
  if (result.output.size() != sizeof numbers) {
    return Error{ErrorKind::Malformed, "the worker returned no result"};
  }
  std::memcpy(&numbers, result.output.data(), sizeof numbers);
  return numbers;
}

Result<std::uint64_t> known(std::uint64_t number, std::string_view name) {
  if (number != kNone) return number;
  return Error{ErrorKind::Unsupported, fmt::format("no member {}", name)};
}

// The number of pointers in an array, which is a power of two.
Result<std::uint64_t> entries(std::uint64_t bytes) {
  const std::uint64_t count = bytes / kWordBytes;
  if (bytes % kWordBytes != 0 || !std::has_single_bit(count) || count > (1U << 24)) {
    return Error{ErrorKind::Malformed, fmt::format("an index of {} bytes", bytes)};
  }
  return count;
}

}  // namespace

Result<DebugLayout> read_debug_layout(const Fd& file, const Deadline& deadline) {
  const Numbers found = HA_TRY(parse_in_sandbox(file, deadline));
  if (found.has_all != 1) {
    return Error{ErrorKind::Unsupported, "no debug information describes the collector"};
  }
  DebugLayout result;
  Layout& layout = result.layout;
  layout.source = Layout::Source::DebugInfo;
  layout.header_block = HA_TRY(known(found.block, "hb_block"));
  layout.header_kind = HA_TRY(known(found.kind, "hb_obj_kind"));
  layout.header_flags = HA_TRY(known(found.flags, "hb_flags"));
  layout.header_size = HA_TRY(known(found.size, "hb_sz"));
  layout.header_descriptor = HA_TRY(known(found.descriptor, "hb_descr"));
  static_cast<void>(HA_TRY(known(found.index_bytes, "index")));
  layout.bottom_mask = HA_TRY(entries(found.index_bytes)) - 1;
  layout.bottom_key = HA_TRY(known(found.key, "key"));
  layout.has_hash_chain = found.hash_link != kNone;
  if (layout.has_hash_chain) layout.bottom_next = found.hash_link;
  result.top_index = HA_TRY(known(found.top, "_top_index"));
  layout.top_mask = HA_TRY(entries(found.top_bytes)) - 1;
  // No structure has the size of a block; all default configurations use 4096 bytes.
  layout.top_shift = layout.block_shift + static_cast<unsigned>(std::popcount(layout.bottom_mask));
  if (found.nils != kNone) result.all_nils = found.nils;
  return result;
}

}  // namespace heapattach::boehm
