#include "symbols/unwind/stub_names.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include <gelf.h>

// The stubs that linkers write for x86-64, each 8 or 16 bytes:
//
//   [f3 0f 1e fa]  [f2] ff 25 <32 bits>    (endbr64;) jmp *word(%rip)
//   [f3 0f 1e fa]  68 <32 bits> [f2] e9 …  (endbr64;) push $number; jmp to the first stub
//
// The first stub of .plt, which the others jump to, belongs to no function.

namespace heapattach::unwind {

namespace {

constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kMostRelocations = 1'000'000;

bool takes(std::span<const std::byte>& code, std::initializer_list<unsigned> bytes) {
  if (code.size() < bytes.size()) return false;
  std::size_t i = 0;
  for (const unsigned byte : bytes) {
    if (std::to_integer<unsigned>(code[i++]) != byte) return false;
  }
  code = code.subspan(bytes.size());
  return true;
}

std::optional<std::int32_t> take_number(std::span<const std::byte>& code) {
  std::int32_t number = 0;
  if (code.size() < sizeof number) return {};
  std::memcpy(&number, code.data(), sizeof number);
  code = code.subspan(sizeof number);
  return number;
}

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
  const bool is_short = name == ".plt.got" && header.sh_entsize != 16;
  stubs_.push_back({header.sh_addr, header.sh_size, is_short ? 8U : 16U});
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
    const auto type = GELF_R_TYPE(relocation.r_info);
    const bool is_function = type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
    std::string name;
    if (is_function) name = symbol_name(elf, symbols, names, GELF_R_SYM(relocation.r_info));
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
  auto code = all.subspan(0, std::min<std::size_t>(all.size(), bytes));
  takes(code, {0xf3, 0x0f, 0x1e, 0xfa});
  std::string name;
  if (takes(code, {0x68})) {
    const auto number = take_number(code);
    if (number && *number >= 0 && static_cast<std::size_t>(*number) < by_number_.size()) {
      name = by_number_[static_cast<std::size_t>(*number)];
    }
  } else {
    takes(code, {0xf2});
    if (!takes(code, {0xff, 0x25})) return {};
    const auto distance = take_number(code);
    if (!distance) return {};
    const std::uint64_t behind = static_cast<std::uint64_t>(code.data() - all.data());
    const std::uint64_t word =
        stub.value - module_.bias() + behind + static_cast<std::uint64_t>(std::int64_t{*distance});
    if (const auto found = by_word_.find(word); found != by_word_.end()) name = found->second;
  }
  return name;
}

}  // namespace heapattach::unwind
