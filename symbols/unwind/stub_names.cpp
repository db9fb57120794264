#include "symbols/unwind/stub_names.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <gelf.h>

#include "symbols/unwind/arch/stubs.h"

namespace heapattach::unwind {

namespace {

constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kMostRelocations = 1'000'000;

std::string symbol_name(Elf* elf, const GElf_Shdr& symbols, Elf_Data* data, std::size_t index) {
  GElf_Sym symbol;
  if (data == nullptr || index == 0 || index > INT32_MAX ||
      gelf_getsym(data, static_cast<int>(index), &symbol) == nullptr) {
    return {};
  }
  const char* const name = elf_strptr(elf, symbols.sh_link, symbol.st_name);
  return name == nullptr ? std::string() : std::string(name, ::strnlen(name, kLongestName));
}

}  // namespace

StubNames::StubNames(const Module& module, Elf* elf) : module_(module) {
  std::size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) read_section(elf, section, names);
}

void StubNames::read_section(Elf* elf, Elf_Scn* section, std::size_t names) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr) return;
  const char* const text = elf_strptr(elf, names, header.sh_name);
  const std::string_view name = text == nullptr ? "" : text;
  if (header.sh_type == SHT_RELA) read_relocations(elf, section, name == ".rela.plt");
  if (header.sh_type != SHT_PROGBITS || !name.starts_with(".plt")) return;
  const std::uint64_t each = stub_bytes(module_.machine(), name, header.sh_entsize);
  if (each != 0) stubs_.push_back({header.sh_addr, header.sh_size, each});
}

void StubNames::read_relocations(Elf* elf, Elf_Scn* section, bool is_for_stubs) {
  GElf_Shdr header;
  GElf_Shdr symbols;
  if (gelf_getshdr(section, &header) == nullptr) return;
  Elf_Scn* const linked = elf_getscn(elf, header.sh_link);
  if (linked == nullptr || gelf_getshdr(linked, &symbols) == nullptr) return;
  Elf_Data* const names = elf_getdata(linked, nullptr);
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr) return;
  const std::size_t count = std::min(data->d_size / sizeof(Elf64_Rela), kMostRelocations);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Rela relocation;
    if (gelf_getrela(data, static_cast<int>(i), &relocation) == nullptr) return;
    std::string name;
    if (is_word_of_stub(module_.machine(), GELF_R_TYPE(relocation.r_info)))
      name = symbol_name(elf, symbols, names, GELF_R_SYM(relocation.r_info));
    if (is_for_stubs) by_number_.push_back(name);
    if (!name.empty()) by_word_.emplace(relocation.r_offset, std::move(name));
  }
}

std::string StubNames::at(RemoteAddr pc) const {
  const std::uint64_t linked = pc.value - module_.bias();
  for (const Stubs& stubs : stubs_) {
    if (linked - stubs.start >= stubs.bytes) continue;
    const std::uint64_t into = (linked - stubs.start) % stubs.each;
    return name_of(RemoteAddr{pc.value - into}, stubs.each);
  }
  return {};
}

std::string StubNames::name_of(RemoteAddr stub, std::uint64_t bytes) const {
  const auto all = module_.file_bytes(stub);
  const auto code = all.first(std::min<std::size_t>(all.size(), bytes));
  const std::uint64_t linked = stub.value - module_.bias();
  const StubTarget target = stub_target(module_.machine(), code, linked);
  if (target.number) {
    return *target.number < by_number_.size() ? by_number_[*target.number] : std::string();
  }
  if (!target.word) return {};
  const auto found = by_word_.find(linked + static_cast<std::uint64_t>(*target.word));
  return found == by_word_.end() ? std::string() : found->second;
}

}  // namespace heapattach::unwind
