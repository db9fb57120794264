#include "inject/padding.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include <elf.h>

#include "inject/arch/stub.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::size_t kMostSegments = 64;
// The library that the kernel maps into each process. A write makes the page private, as in any
// other mapping.
constexpr std::string_view kVdso = "[vdso]";

// The first mapping of the module to which `code` belongs. It contains the ELF header.
const Mapping* first_of_module(const MemoryMap& map, const Mapping& code) {
  const Mapping* first = nullptr;
  for (const Mapping& mapping : map.mappings()) {
    if (mapping.range.start > code.range.start) break;
    const bool is_same =
        mapping.inode == code.inode && mapping.device == code.device && mapping.path == code.path;
    if (is_same && mapping.file_offset == 0) first = &mapping;
  }
  return first;
}

bool is_header(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(Elf64_Phdr) &&
         header.e_phnum <= kMostSegments;
}

// The end of the segment that is mapped as `code`, at most the end of the mapping.
std::optional<RemoteAddr> end_of_code(const Mapping& first,
                                      const Mapping& code,
                                      const MemoryReader& memory) {
  const auto header = memory.read_as<Elf64_Ehdr>(first.range.start);
  if (!header || !is_header(*header)) return std::nullopt;
  std::vector<Elf64_Phdr> segments(header->e_phnum);
  const RemoteAddr table = first.range.start + header->e_phoff;
  if (!memory.read(table, std::as_writable_bytes(std::span(segments)))) return std::nullopt;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    // Compare file offsets, which do not depend on the load address.
    const std::uint64_t begin = segment.p_offset;
    const std::uint64_t bytes = std::max(segment.p_filesz, segment.p_memsz);
    const std::uint64_t mapped_end = code.file_offset + code.range.bytes;
    if (begin < code.file_offset || begin > mapped_end || bytes > mapped_end - begin) continue;
    return code.range.start + (begin - code.file_offset) + bytes;
  }
  return std::nullopt;
}

bool is_zero(const MemoryReader& memory, RemoteAddr at, std::size_t bytes) {
  std::vector<std::byte> there(bytes);
  return memory.read(at, there) &&
         std::all_of(there.begin(), there.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::optional<RemoteAddr> first_zeros(Range padding,
                                      const MemoryReader& memory,
                                      std::size_t bytes) {
  for (std::uint64_t at = 0; at < padding.bytes && padding.bytes - at >= bytes; at += kAlignment) {
    if (is_zero(memory, padding.start + at, bytes)) return padding.start + at;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Range> paddings(const MemoryMap& map, const MemoryReader& memory) {
  std::vector<Range> found;
  for (const Mapping& code : map.mappings()) {
    const bool is_code = code.executable && code.readable && !code.writable && code.is_private &&
                         (!code.is_anonymous() || code.path == kVdso);
    if (!is_code) continue;
    const Mapping* first = first_of_module(map, code);
    if (first == nullptr) continue;
    const auto end = end_of_code(*first, code, memory);
    if (!end) continue;
    const std::uint64_t at = (end->value + kAlignment - 1) & ~(kAlignment - 1);
    const std::uint64_t last = code.range.end().value;
    if (at < last) found.push_back({{at}, last - at});
  }
  return found;
}

std::vector<RemoteAddr> find_paddings(const MemoryMap& map,
                                      const MemoryReader& memory,
                                      std::size_t bytes) {
  std::vector<RemoteAddr> found;
  for (const Range& padding : paddings(map, memory)) {
    if (const auto at = first_zeros(padding, memory, bytes)) found.push_back(*at);
    if (Stub::kReachesEverywhere && !found.empty()) break;
  }
  return found;
}

}  // namespace heapattach
