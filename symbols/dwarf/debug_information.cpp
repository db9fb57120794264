#include "symbols/dwarf/debug_information.h"

#include <algorithm>
#include <utility>

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include "symbols/dwarf/dwarf_unit.h"

namespace heapattach::types {
namespace {

using Bytes = std::span<const std::byte>;

std::string_view last_component(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// From `base` to the next one, or to the end.
Bytes from_base(Bytes section, std::uint64_t base, const std::vector<std::uint64_t>& bases) {
  if (base > section.size()) return {};
  const auto next = std::upper_bound(bases.begin(), bases.end(), base);
  const std::uint64_t end = next == bases.end() ? section.size() : *next;
  return section.subspan(base, std::min<std::uint64_t>(end, section.size()) - base);
}

void sort_and_trim(std::vector<std::uint64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

Bytes build_id_of(Elf* elf) {
  const void* id = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
  if (size <= 0) return {};
  return {static_cast<const std::byte*>(id), static_cast<std::size_t>(size)};
}

}  // namespace

void DebugInformation::EndElf::operator()(Elf* elf) const noexcept {
  elf_end(elf);
}
void DebugInformation::EndDwarf::operator()(Dwarf* dwarf) const noexcept {
  dwarf_end(dwarf);
}

DebugInformation::DebugInformation(int file, std::span<const Companion> companions)
    : companions_(companions) {
  elf_version(EV_CURRENT);
  if (file >= 0) main_.reset(dwarf_begin(file, DWARF_C_READ));
  if (main_ != nullptr) find_supplement(companions);
}

void DebugInformation::find_supplement(std::span<const Companion> companions) {
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t size = dwelf_dwarf_gnu_debugaltlink(main_.get(), &name, &id);
  if (size <= 0) return;
  const Bytes wanted(static_cast<const std::byte*>(id), static_cast<std::size_t>(size));
  std::string_view reason = "not found";
  for (const Companion& companion : companions) {
    if (companion.kind != Companion::Kind::Supplement) continue;
    const auto bytes = companion.file.bytes();
    std::unique_ptr<Elf, EndElf> elf(
        elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size()));
    if (elf == nullptr || !std::ranges::equal(build_id_of(elf.get()), wanted)) {
      reason = "its build id differs";
      continue;
    }
    supplement_.reset(dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr));
    if (supplement_ == nullptr) {
      reason = dwarf_errmsg(-1);
      continue;
    }
    supplement_elf_ = std::move(elf);
    dwarf_setalt(main_.get(), supplement_.get());
    return;
  }
  supplement_note_ =
      fmt::format("debug information that dwz moved to {} is missing: {}", name, reason);
}

bool DebugInformation::is_skeleton(const Dwarf_Die& root) {
  return has(root, DW_AT_dwo_name) || has(root, DW_AT_GNU_dwo_name);
}

std::optional<Dwarf_Die> DebugInformation::split_off(const Dwarf_Die& skeleton) {
  if (!is_skeleton(skeleton)) return std::nullopt;
  const auto [at, is_new] = images_.try_emplace(skeleton.addr);
  if (is_new) {
    if (const auto found = skeleton_of(skeleton)) at->second = make_image(*found);
  }
  return at->second.root;
}

DebugInformation::Image DebugInformation::make_image(const Skeleton& skeleton) {
  if (!split_files_) open_split_files();
  Image image;
  const auto file = std::find_if(split_files_->begin(), split_files_->end(),
                                 [&](const SplitFile& one) { return one.has(skeleton.id); });
  const auto sections = file == split_files_->end() ? std::nullopt : file->sections_of(skeleton.id);
  auto bytes = sections ? split_image(*sections, context_of(skeleton)) : std::nullopt;
  if (!bytes) {
    missing_.push_back(fmt::format("{}: {}", skeleton.name, why_missing(skeleton)));
    return image;
  }
  image.bytes = std::move(*bytes);
  image.elf.reset(elf_memory(reinterpret_cast<char*>(image.bytes.data()), image.bytes.size()));
  image.dwarf.reset(dwarf_begin_elf(image.elf.get(), DWARF_C_READ, nullptr));
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  while (image.dwarf != nullptr &&
         dwarf_get_units(image.dwarf.get(), unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
    if (tag_of(root) != DW_TAG_compile_unit) continue;
    image.root = root;
    return image;
  }
  missing_.push_back(fmt::format("{}: it is damaged", skeleton.name));
  return image;
}

void DebugInformation::open_split_files() {
  split_files_.emplace();
  for (const Companion& companion : companions_) {
    if (companion.kind != Companion::Kind::Split) continue;
    split_files_->emplace_back(companion.file.bytes());
  }
  learn_bases();
}

void DebugInformation::learn_bases() {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  while (dwarf_get_units(main_.get(), unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
    const auto skeleton = skeleton_of(root);
    if (!skeleton) continue;
    address_bases_.push_back(skeleton->addresses);
    range_bases_.push_back(skeleton->ranges);
  }
  sort_and_trim(address_bases_);
  sort_and_trim(range_bases_);
}

SplitContext DebugInformation::context_of(const Skeleton& skeleton) const {
  const Elf64_Ehdr* const header = elf64_getehdr(dwarf_getelf(main_.get()));
  return {.machine = header == nullptr ? std::uint16_t{EM_NONE} : header->e_machine,
          .low_pc = skeleton.low_pc,
          .addresses = from_base(section(".debug_addr"), skeleton.addresses, address_bases_),
          .ranges = from_base(section(".debug_ranges"), skeleton.ranges, range_bases_)};
}

// A section that libdw has already uncompressed.
Bytes DebugInformation::section(std::string_view name) const {
  Elf* const elf = dwarf_getelf(main_.get());
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  Elf_Scn* handle = nullptr;
  while ((handle = elf_nextscn(elf, handle)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(handle, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* found = elf_strptr(elf, names, header.sh_name);
    std::string plain = found == nullptr ? "" : found;
    if (plain.starts_with(".z")) plain.erase(1, 1);
    if (plain != name) continue;
    const Elf_Data* data = elf_getdata(handle, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const std::byte*>(data->d_buf), data->d_size};
  }
  return {};
}

std::string DebugInformation::why_missing(const Skeleton& skeleton) const {
  const std::string_view name = last_component(skeleton.name);
  for (const Companion& companion : companions_) {
    const bool is_it =
        companion.kind == Companion::Kind::Split && last_component(companion.path) == name;
    if (is_it) {
      return fmt::format("{} does not have the unit with the id {:016x}", companion.path,
                         skeleton.id);
    }
  }
  return "not found";
}

std::vector<std::string> DebugInformation::notes() const {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> notes;
  if (!supplement_note_.empty()) notes.push_back(supplement_note_);
  for (std::size_t i = 0; i < std::min(missing_.size(), kShown); ++i) {
    notes.push_back("split debug information is missing: " + missing_[i]);
  }
  if (missing_.size() > kShown) {
    notes.push_back(
        fmt::format("the information of {} more units is missing too", missing_.size() - kShown));
  }
  return notes;
}

}  // namespace heapattach::types
