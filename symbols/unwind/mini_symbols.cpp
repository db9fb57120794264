#include "symbols/unwind/mini_symbols.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include <lzma.h>

namespace heapattach::unwind {

namespace {

constexpr std::size_t kMostBytes = std::size_t{512} << 20;
constexpr std::uint64_t kDecoderMemory = std::uint64_t{256} << 20;
constexpr std::size_t kLongestName = 4096;

// The bytes of the section of this name; empty if there is none.
std::span<const std::byte> section_bytes(Elf* elf, std::string_view wanted) {
  std::size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return {};
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_PROGBITS) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || name != wanted) continue;
    Elf_Data* const data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const std::byte*>(data->d_buf), data->d_size};
  }
  return {};
}

bool is_function(const GElf_Sym& symbol) {
  return GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_size != 0;
}

}  // namespace

std::vector<char> unpack_xz(std::span<const std::byte> packed, std::size_t limit) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kDecoderMemory, 0) != LZMA_OK) return {};
  std::vector<std::uint8_t> input(packed.size());
  if (!packed.empty()) std::memcpy(input.data(), packed.data(), packed.size());
  stream.next_in = input.data();
  stream.avail_in = input.size();
  std::vector<char> unpacked;
  std::array<std::uint8_t, 65536> piece{};
  lzma_ret status = LZMA_OK;
  while (status == LZMA_OK && unpacked.size() <= limit) {
    stream.next_out = piece.data();
    stream.avail_out = piece.size();
    status = lzma_code(&stream, LZMA_FINISH);
    unpacked.insert(unpacked.end(), piece.data(), stream.next_out);
  }
  lzma_end(&stream);
  if (status != LZMA_STREAM_END || unpacked.size() > limit) return {};
  return unpacked;
}

void MiniSymbols::EndElf::operator()(Elf* elf) const noexcept {
  elf_end(elf);
}

MiniSymbols::MiniSymbols(Elf* elf) {
  std::vector<char> image = unpack_xz(section_bytes(elf, ".gnu_debugdata"), kMostBytes);
  if (image.empty()) return;
  const std::unique_ptr<Elf, EndElf> inner(elf_memory(image.data(), image.size()));
  if (inner != nullptr && gelf_getclass(inner.get()) == ELFCLASS64) read(inner.get());
  std::sort(functions_.begin(), functions_.end(),
            [](const Function& a, const Function& b) { return a.start < b.start; });
}

void MiniSymbols::read(Elf* elf) {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_SYMTAB) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    const std::size_t count = data->d_size / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < count && i <= INT32_MAX; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      if (is_function(symbol)) add(symbol, elf_strptr(elf, header.sh_link, symbol.st_name));
    }
  }
}

void MiniSymbols::add(const GElf_Sym& symbol, const char* name) {
  if (name == nullptr || *name == '\0') return;
  functions_.push_back(
      {symbol.st_value, symbol.st_size, std::string(name, ::strnlen(name, kLongestName))});
}

std::string MiniSymbols::at(std::uint64_t pc) const {
  auto next = std::upper_bound(
      functions_.begin(), functions_.end(), pc,
      [](std::uint64_t address, const Function& one) { return address < one.start; });
  // A short function may be inside a long one, so look at some functions that begin before it.
  for (int tries = 0; next != functions_.begin() && tries < 16; ++tries) {
    const Function& one = *--next;
    if (pc - one.start < one.bytes) return one.name;
  }
  return {};
}

}  // namespace heapattach::unwind
