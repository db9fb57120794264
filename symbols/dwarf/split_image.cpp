#include "symbols/dwarf/split_image.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <dwarf.h>
#include <elf.h>

#include "attach/base/word.h"

// How a unit is made whole. Addresses are found by number in .debug_addr: the part of it that the
// unit counts from is put into the image, so that the base is zero. What remains is the unit's
// lowest address, from which lists of ranges and of locations count, and which only the skeleton in
// the program states.
//
// DWARF 5. The header of a split unit is eight bytes longer than that of a plain one, because of
// its id:
//
//     length 4, version 2, kind 1, bytes of an address 1, abbreviations 4, id 8, | root entry
//
// Entries refer to each other by their distance from the header, so only the root may move, which
// nothing refers to. It moves over the id, and gains eight bytes for two attributes:
//
//     length 4, version 2, kind 1, bytes of an address 1, abbreviations 4, |
//     code n, DW_AT_low_pc as DW_FORM_addrx4, DW_AT_stmt_list as DW_FORM_sec_offset, (rest of root)
//
// The code keeps its length. Its abbreviation gets both attributes at its beginning, in a copy of
// the table after the others, and the address follows those of .debug_addr.
//
// DWARF 4. libdw must go on treating the unit as a split one, whose lists of locations have another
// form. Those need no lowest address; only the lists of ranges, which are the program's, do. The
// address is added to them here.

namespace heapattach::types {
namespace {

using Bytes = SplitSections::Bytes;
using Buffer = std::vector<std::byte>;

template <class T>
std::optional<T> number_in(Bytes bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

template <class T>
void put(Buffer& bytes, std::uint64_t at, T number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

template <class T>
void append(Buffer& bytes, T number) {
  const auto* from = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), from, from + sizeof number);
}

// Reads the numbers of an abbreviation table; zeros after its end.
class Abbreviations {
 public:
  explicit Abbreviations(Bytes bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool is_at_end() const { return at_ >= bytes_.size(); }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !is_at_end(); shift += 7) {
      const std::uint8_t byte = this->byte();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) break;
    }
    return value;
  }
  std::uint8_t byte() { return is_at_end() ? 0 : std::to_integer<std::uint8_t>(bytes_[at_++]); }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
};

// The offset of the attributes of abbreviation `code` in `table`.
std::optional<std::size_t> attributes_of(Bytes table, std::uint64_t code) {
  Abbreviations reader(table);
  while (!reader.is_at_end()) {
    const std::uint64_t found = reader.number();
    if (found == 0) return std::nullopt;
    reader.number();  // the tag
    reader.byte();    // whether it has children
    if (found == code) return reader.at();
    while (!reader.is_at_end()) {
      const std::uint64_t name = reader.number();
      const std::uint64_t form = reader.number();
      if (form == DW_FORM_implicit_const) reader.number();
      if (name == 0 && form == 0) break;
    }
  }
  return std::nullopt;
}

// The table at `offset` with two more attributes for `code`.
std::optional<Buffer> table_with_more(Bytes abbreviations, std::uint64_t offset, Bytes code) {
  if (offset > abbreviations.size()) return std::nullopt;
  const Bytes table = abbreviations.subspan(offset);
  const auto at = attributes_of(table, Abbreviations(code).number());
  if (!at) return std::nullopt;
  Buffer whole(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(*at));
  for (const unsigned more : std::initializer_list<unsigned>{DW_AT_low_pc, DW_FORM_addrx4,
                                                             DW_AT_stmt_list, DW_FORM_sec_offset}) {
    whole.push_back(static_cast<std::byte>(more));
  }
  whole.insert(whole.end(), table.begin() + static_cast<std::ptrdiff_t>(*at), table.end());
  return whole;
}

struct Unit {
  Buffer info;
  Buffer abbreviations;
};

constexpr std::uint64_t kHeader = 20;  // of a split unit in DWARF 5
constexpr std::uint64_t kPlainHeader = 12;

// A split unit of DWARF 5 as a plain one, whose lowest address has the number `low_pc`.
std::optional<Unit> whole_unit(const SplitSections& sections, std::uint32_t low_pc) {
  const Bytes info = sections.info;
  const auto table = number_in<std::uint32_t>(info, 8);
  if (!table || info.size() <= kHeader) return std::nullopt;
  Abbreviations code_reader(info.subspan(kHeader));
  code_reader.number();
  const Bytes code = info.subspan(kHeader, code_reader.at());
  const auto more = table_with_more(sections.abbreviations, *table, code);
  if (!more) return std::nullopt;
  Unit unit{.info = Buffer(info.begin(), info.end()),
            .abbreviations = Buffer(sections.abbreviations.begin(), sections.abbreviations.end())};
  put<std::uint8_t>(unit.info, 6, DW_UT_compile);
  put(unit.info, 8, static_cast<std::uint32_t>(unit.abbreviations.size()));
  std::copy(code.begin(), code.end(), unit.info.begin() + kPlainHeader);
  put(unit.info, kPlainHeader + code.size(), low_pc);
  put<std::uint32_t>(unit.info, kPlainHeader + code.size() + sizeof low_pc, 0);
  unit.abbreviations.insert(unit.abbreviations.end(), more->begin(), more->end());
  return unit;
}

// Converts lists of ranges that count from `low_pc` to lists that count from zero.
Buffer moved_ranges(Bytes ranges, std::uint64_t low_pc) {
  constexpr std::uint64_t kNewBase = ~std::uint64_t{0};
  Buffer moved(ranges.begin(), ranges.end());
  std::uint64_t base = low_pc;
  for (std::size_t at = 0; at + 2 * kWordBytes <= moved.size(); at += 2 * kWordBytes) {
    const auto start = number_in<std::uint64_t>(moved, at).value_or(0);
    const auto end = number_in<std::uint64_t>(moved, at + kWordBytes).value_or(0);
    if (start == 0 && end == 0) {
      base = low_pc;
    } else if (start == kNewBase) {
      base = 0;
    } else {
      put(moved, at, start + base);
      put(moved, at + kWordBytes, end + base);
    }
  }
  return moved;
}

// An ELF file that contains only sections.
class ElfWriter {
 public:
  ElfWriter() : bytes_(sizeof(Elf64_Ehdr)) { add_header("", SHT_NULL, {}); }

  void add(std::string_view name, Bytes contents) {
    if (!contents.empty()) add_header(name, SHT_PROGBITS, contents);
  }

  Buffer finish(std::uint16_t machine) && {
    add_header(".shstrtab", SHT_STRTAB, {});
    headers_.back().sh_size = names_.size();
    const auto names = std::as_bytes(std::span(names_));
    bytes_.insert(bytes_.end(), names.begin(), names.end());
    bytes_.resize((bytes_.size() + kWordBytes - 1) / kWordBytes * kWordBytes);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = machine;
    header.e_version = EV_CURRENT;
    header.e_shoff = bytes_.size();
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<std::uint16_t>(headers_.size());
    header.e_shstrndx = static_cast<std::uint16_t>(headers_.size() - 1);
    put(bytes_, 0, header);
    for (const Elf64_Shdr& section : headers_) append(bytes_, section);
    return std::move(bytes_);
  }

 private:
  void add_header(std::string_view name, std::uint32_t type, Bytes contents) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<std::uint32_t>(names_.size());
    header.sh_type = type;
    header.sh_offset = bytes_.size();
    header.sh_size = contents.size();
    header.sh_addralign = 1;
    headers_.push_back(header);
    names_.append(name).push_back('\0');
    bytes_.insert(bytes_.end(), contents.begin(), contents.end());
  }

  Buffer bytes_;
  std::string names_;
  std::vector<Elf64_Shdr> headers_;
};

}  // namespace

std::optional<Buffer> split_image(const SplitSections& sections, const SplitContext& context) {
  const auto length = number_in<std::uint32_t>(sections.info, 0);
  const auto version = number_in<std::uint16_t>(sections.info, 4);
  const bool is_long = length >= 0xfffffff0U;  // 64-bit DWARF, which no compiler splits
  if (!length || !version || is_long || *version < 4 || *version > 5) return std::nullopt;
  const bool is_5 = *version == 5;
  Buffer addresses(context.addresses.begin(), context.addresses.end());
  addresses.resize(addresses.size() / kWordBytes * kWordBytes);
  append(addresses, context.low_pc);

  ElfWriter elf;
  if (is_5) {
    auto unit = whole_unit(sections, static_cast<std::uint32_t>(addresses.size() / kWordBytes - 1));
    if (!unit) return std::nullopt;
    unit->info.insert(unit->info.end(), sections.type_units.begin(), sections.type_units.end());
    elf.add(".debug_info", unit->info);
    elf.add(".debug_abbrev", unit->abbreviations);
    elf.add(".debug_rnglists", sections.ranges);
  } else {
    elf.add(".debug_info", sections.info);
    elf.add(".debug_types", sections.type_units);
    elf.add(".debug_abbrev", sections.abbreviations);
    elf.add(".debug_ranges", moved_ranges(context.ranges, context.low_pc));
  }
  elf.add(is_5 ? ".debug_loclists" : ".debug_loc", sections.locations);
  elf.add(".debug_line", sections.lines);
  elf.add(".debug_str_offsets", sections.string_offsets);
  elf.add(".debug_str", sections.strings);
  elf.add(".debug_addr", addresses);
  return std::move(elf).finish(context.machine);
}

}  // namespace heapattach::types
