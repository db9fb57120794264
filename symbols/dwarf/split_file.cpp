#include "symbols/dwarf/split_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <dwarf.h>
#include <gelf.h>
#include <libelf.h>

#include "symbols/dwarf/dwarf_unit.h"
#include "symbols/elf/skeleton.h"

namespace heapattach::types {
namespace {

// The section, DWARF 5 section 7.3.5.3 (before it GCC's wiki, DebugFissionDWP):
//
//     version, number of columns, of units, of slots         4 bytes each
//     ids by slot                                             8
//     numbers of rows by slot, from one on; zero: no unit     4
//     which section each column is of                         4
//     a row of offsets for each unit                          4 a column
//     a row of sizes for each unit                            4 a column
//
// The slots are a hash table, which is of no use for reading all units.

constexpr std::uint32_t kMostColumns = 16;
constexpr std::uint32_t kMostSlots = 1U << 24U;

class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool has(std::uint64_t at, std::uint64_t count) const {
    return at <= bytes_.size() && count <= bytes_.size() - at;
  }
  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const {
    T number{};
    if (has(offset, sizeof number)) std::memcpy(&number, bytes_.data() + offset, sizeof number);
    return number;
  }

 private:
  std::span<const std::byte> bytes_;
};

// The part for a column; null if the column is not used here.
PackageIndex::Part* part_of(PackageIndex::Row& row, std::uint32_t section, std::uint32_t version) {
  switch (section) {
    case 1: return &row.info;
    case 2: return &row.type_units;
    case 3: return &row.abbreviations;
    case 4: return &row.lines;
    case 5: return &row.locations;
    case 6: return &row.string_offsets;
    case 8: return version == 5 ? &row.ranges : nullptr;  // older: that of macros
    default: return nullptr;
  }
}

using Bytes = SplitSections::Bytes;

constexpr std::string_view kSuffix = ".dwo";
constexpr std::size_t kMostStrings = std::size_t{1} << 28;  // bytes, of one unit

struct EndDwarf {
  void operator()(Dwarf* dwarf) const noexcept { dwarf_end(dwarf); }
};

Bytes part_of(Bytes section, const PackageIndex::Part& part) {
  if (part.offset > section.size() || part.bytes > section.size() - part.offset) return {};
  return section.subspan(part.offset, part.bytes);
}

std::uint32_t word_at(Bytes bytes, std::size_t at) {
  std::uint32_t word = 0;
  if (at + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// The text with its closing NUL, which the last one of a section may lack.
Bytes string_at(Bytes strings, std::size_t at) {
  if (at >= strings.size()) return {};
  const Bytes rest = strings.subspan(at);
  const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
  if (end == rest.end()) return {};
  return rest.first(static_cast<std::size_t>(end - rest.begin()) + 1);
}

}  // namespace

PackageIndex::PackageIndex(std::span<const std::byte> section) {
  const Numbers numbers(section);
  const auto version = numbers.at<std::uint32_t>(0);
  const auto columns = numbers.at<std::uint32_t>(4);
  const auto units = numbers.at<std::uint32_t>(8);
  const auto slots = numbers.at<std::uint32_t>(12);
  if ((version != 2 && version != 5) || columns > kMostColumns || slots > kMostSlots) return;
  constexpr std::uint64_t kIds = 16;
  const std::uint64_t row_numbers = kIds + std::uint64_t{8} * slots;
  const std::uint64_t sections = row_numbers + std::uint64_t{4} * slots;
  const std::uint64_t offsets = sections + std::uint64_t{4} * columns;
  const std::uint64_t row_bytes = std::uint64_t{4} * columns;
  if (!numbers.has(offsets, 2 * row_bytes * units)) return;
  const std::uint64_t sizes = offsets + row_bytes * units;
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const auto number = numbers.at<std::uint32_t>(row_numbers + 4 * slot);
    if (number == 0 || number > units) continue;
    Row& row = rows_[numbers.at<std::uint64_t>(kIds + 8 * slot)];
    for (std::uint64_t i = 0; i < columns; ++i) {
      Part* const part = part_of(row, numbers.at<std::uint32_t>(sections + 4 * i), version);
      const std::uint64_t at = (number - 1) * row_bytes + 4 * i;
      if (part == nullptr) continue;
      *part = {numbers.at<std::uint32_t>(offsets + at), numbers.at<std::uint32_t>(sizes + at)};
    }
  }
}

void SplitFile::EndElf::operator()(Elf* elf) const noexcept {
  elf_end(elf);
}

SplitFile::SplitFile(std::span<std::byte> file) {
  elf_version(EV_CURRENT);
  elf_.reset(elf_memory(reinterpret_cast<char*>(file.data()), file.size()));
  if (elf_ == nullptr || elf_kind(elf_.get()) != ELF_K_ELF) return;
  find_sections();
  if (sections_.contains(".debug_cu_index")) {
    index_ = PackageIndex(section(".debug_cu_index"));
    const PackageIndex types(section(".debug_tu_index"));
    for (const auto& [id, row] : types.rows()) {
      type_rows_.emplace(row.abbreviations.offset, row);
    }
  } else {
    find_units();
  }
}

void SplitFile::find_sections() {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf_.get(), &names) != 0) return;
  Elf_Scn* handle = nullptr;
  while ((handle = elf_nextscn(elf_.get(), handle)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(handle, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf_.get(), names, header.sh_name);
    if (name != nullptr) take_section(handle, (header.sh_flags & SHF_COMPRESSED) != 0, name);
  }
}

void SplitFile::take_section(Elf_Scn* handle, bool is_compressed, std::string name) {
  const bool is_index = name.ends_with("_index");
  if (!is_index && !name.ends_with(kSuffix)) return;
  if (!is_index) name.resize(name.size() - kSuffix.size());
  if (is_compressed) elf_compress(handle, 0, 0);
  if (name.starts_with(".z")) {
    elf_compress_gnu(handle, 0, 0);
    name.erase(1, 1);
  }
  const Elf_Data* data = elf_getdata(handle, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return;
  const Bytes bytes(static_cast<const std::byte*>(data->d_buf), data->d_size);
  const auto [known, is_new] = sections_.try_emplace(name, bytes);
  const bool has_units = name == ".debug_info" || name == ".debug_types";
  if (is_new || !has_units) return;
  // g++ gives each type unit a section of its own, all with the same name.
  std::vector<std::byte>& joined = joined_[name];
  if (joined.empty()) joined.assign(known->second.begin(), known->second.end());
  joined.insert(joined.end(), bytes.begin(), bytes.end());
  known->second = joined;
}

Bytes SplitFile::section(std::string_view name) const {
  const auto found = sections_.find(name);
  return found == sections_.end() ? Bytes() : found->second;
}

// In DWARF 5 a unit's header has its id: length:32 version:16 type:8 address:8 abbreviations:32
// id:64.
void SplitFile::find_units() {
  constexpr std::size_t kHeader = 20;
  constexpr std::size_t kTypeAt = 6;
  constexpr std::size_t kIdAt = 12;
  const Bytes info = section(".debug_info");
  for (std::size_t at = 0; at < info.size() && info.size() - at >= kHeader;) {
    const std::uint64_t bytes = std::uint64_t{word_at(info, at)} + sizeof(std::uint32_t);
    if (bytes < kHeader || bytes > info.size() - at) break;
    const std::uint32_t version = word_at(info, at + sizeof(std::uint32_t)) & 0xffffU;
    if (version == 5 && info[at + kTypeAt] == std::byte{DW_UT_split_compile}) {
      std::uint64_t id = 0;
      std::memcpy(&id, info.data() + at + kIdAt, sizeof id);
      units_.try_emplace(id, Unit{at, bytes});
    }
    at += bytes;
  }
  if (units_.empty()) find_old_units();
}

// Before DWARF 5, the id was an attribute.
void SplitFile::find_old_units() {
  const std::unique_ptr<Dwarf, EndDwarf> dwarf(dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr));
  if (dwarf == nullptr) return;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  while (dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
    const auto id = unit_id(root);
    if (!id || tag_of(root) != DW_TAG_compile_unit) continue;
    const std::uint64_t offset = dwarf_dieoffset(&root) - dwarf_cuoffset(&root);
    const Bytes info = section(".debug_info");
    const std::uint64_t bytes = std::uint64_t{word_at(info, offset)} + sizeof(std::uint32_t);
    if (offset > info.size() || bytes > info.size() - offset) continue;
    units_.try_emplace(*id, Unit{offset, bytes});
  }
}

bool SplitFile::has(std::uint64_t id) const {
  return units_.contains(id) || index_.rows().contains(id);
}

std::optional<SplitSections> SplitFile::sections_of(std::uint64_t id) {
  if (const auto unit = units_.find(id); unit != units_.end()) return of_file(unit->second);
  if (const auto row = index_.rows().find(id); row != index_.rows().end()) {
    return of_package(row->second);
  }
  return std::nullopt;
}

SplitSections SplitFile::of_file(const Unit& unit) {
  const Bytes info = section(".debug_info");
  SplitSections sections{.info = info.subspan(unit.offset, unit.bytes),
                         .type_units = section(".debug_types"),
                         .abbreviations = section(".debug_abbrev"),
                         .lines = section(".debug_line"),
                         .locations = section(".debug_loclists"),
                         .ranges = section(".debug_rnglists"),
                         .string_offsets = section(".debug_str_offsets"),
                         .strings = section(".debug_str")};
  if (sections.locations.empty()) sections.locations = section(".debug_loc");
  if (sections.type_units.empty() && units_.size() == 1) {
    // In DWARF 5 they are before and after the unit.
    const Bytes before = info.first(unit.offset);
    const Bytes behind = info.subspan(unit.offset + unit.bytes);
    type_units_.assign(before.begin(), before.end());
    type_units_.insert(type_units_.end(), behind.begin(), behind.end());
    sections.type_units = type_units_;
  }
  return sections;
}

SplitSections SplitFile::of_package(const PackageIndex::Row& row) {
  Bytes locations = section(".debug_loclists");
  if (locations.empty()) locations = section(".debug_loc");
  SplitSections sections{
      .info = part_of(section(".debug_info"), row.info),
      .type_units = {},
      .abbreviations = part_of(section(".debug_abbrev"), row.abbreviations),
      .lines = part_of(section(".debug_line"), row.lines),
      .locations = part_of(locations, row.locations),
      .ranges = part_of(section(".debug_rnglists"), row.ranges),
      .string_offsets = part_of(section(".debug_str_offsets"), row.string_offsets),
      .strings = {}};
  gather_type_units(row);
  sections.type_units = type_units_;
  sections.strings = gather_strings(sections.string_offsets);
  sections.string_offsets = string_offsets_;
  return sections;
}

// Gathers the type units that came into the package with `unit`: they use the same abbreviations.
void SplitFile::gather_type_units(const PackageIndex::Row& unit) {
  type_units_.clear();
  const auto [first, last] = type_rows_.equal_range(unit.abbreviations.offset);
  for (auto at = first; at != last; ++at) {
    const PackageIndex::Row& row = at->second;
    Bytes part = part_of(section(".debug_types"), row.type_units);
    if (part.empty()) part = part_of(section(".debug_info"), row.info);
    type_units_.insert(type_units_.end(), part.begin(), part.end());
  }
}

// A package has the strings of all its units together: too many to copy for each.
Bytes SplitFile::gather_strings(Bytes offsets) {
  const Bytes all = section(".debug_str");
  string_offsets_.assign(offsets.begin(), offsets.end());
  strings_.assign(1, std::byte{0});
  std::unordered_map<std::uint32_t, std::uint32_t> moved;
  // DWARF 5 has a header: the length, the version in two bytes and two bytes of padding.
  const bool has_header = (word_at(offsets, 4) & 0xffffU) == 5 && word_at(offsets, 0) > 0 &&
                          word_at(offsets, 0) + std::size_t{4} == offsets.size();
  for (std::size_t at = has_header ? 8 : 0; at + 4 <= offsets.size(); at += 4) {
    const std::uint32_t from = word_at(offsets, at);
    const auto [known, is_new] = moved.try_emplace(from, 0);
    if (is_new) {
      const Bytes string = string_at(all, from);
      if (!string.empty() && strings_.size() + string.size() < kMostStrings) {
        known->second = static_cast<std::uint32_t>(strings_.size());
        strings_.insert(strings_.end(), string.begin(), string.end());
      }
    }
    std::memcpy(string_offsets_.data() + at, &known->second, sizeof known->second);
  }
  return strings_;
}

}  // namespace heapattach::types
