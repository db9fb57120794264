#include "symbols/elf/elf_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "attach/guardian.h"
#include "attach/sandbox.h"
#include "symbols/elf/elf_bytes.h"

namespace heapattach {

namespace {

constexpr off_t kMostSummedBytes = off_t{4} << 30;
constexpr std::chrono::milliseconds kTime{20'000};
// For headers and sections. Symbols are in a worker twice: as libelf reads them, and packed.
constexpr std::uint64_t kMemory = std::uint64_t{128} << 20;

Result<ElfFacts> parse_in_sandbox(const Fd& file, bool with_symbols, std::uint64_t file_bytes) {
  SandboxLimits limits;
  limits.time = kTime;
  limits.memory_bytes = kMemory + (with_symbols ? 2 * std::min(file_bytes, kMostFileBytes) : 0) +
                        (with_symbols ? kMostFileBytes : 0);
  limits.output_bytes = kMostFileBytes + kMemory;
  limits.descriptors = {file.get()};
  SandboxResult result = HA_TRY(run_sandboxed(
      [&](SandboxOutput& out) { out.write(to_bytes(parse_elf(file, with_symbols))); }, limits));
  return elf_facts_from_bytes(std::move(result.output), file_bytes);
}

}  // namespace

Result<ElfFile> ElfFile::open(Fd file, With what) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return os_error("fstat", errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorKind::Malformed, "not a regular file"};
  const bool with_symbols = what == With::Symbols;
  ElfFacts facts =
      HA_TRY(has_no_rights() ? parse_elf(file, with_symbols)
                             : parse_in_sandbox(file, with_symbols,
                                                static_cast<std::uint64_t>(status.st_size)));
  ElfFile elf(std::move(file), std::move(facts));
  const std::uint64_t cost =
      std::max<std::uint64_t>(elf.facts_.symbol_cost, elf.facts_.symbols.bytes().size());
  if (!with_symbols || !elf.symbols_problem().empty() || elf.share_.take(cost)) return elf;
  elf.facts_.symbols = {};
  elf.facts_.symbols_problem =
      fmt::format("its symbols would take {} MiB, and those of all files may take {}", cost >> 20,
                  kMostFileBytes >> 20);
  return elf;
}

bool ElfFile::has_section(std::string_view name) const {
  return std::find(facts_.sections.begin(), facts_.sections.end(), name) != facts_.sections.end();
}

std::vector<ElfSymbol> ElfFile::symbols(std::string_view prefix) const {
  std::vector<ElfSymbol> found;
  facts_.symbols.each([&](const ElfSymbol& symbol) {
    if (symbol.name.starts_with(prefix)) found.push_back(symbol);
  });
  return found;
}

Result<std::uint32_t> debug_link_crc(const Fd& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return os_error("reading the debug file", errno);
  if (status.st_size > kMostSummedBytes) {
    return Error{ErrorKind::Malformed, "it is too large for its checksum to be computed"};
  }
  if (!is_stored(file, 0, static_cast<std::uint64_t>(status.st_size))) {
    return Error{ErrorKind::Malformed, "it is mostly a hole, and its checksum is not computed"};
  }
  std::vector<unsigned char> buffer(1 << 16);
  uLong crc = crc32(0, nullptr, 0);
  for (off_t offset = 0;;) {
    const ssize_t count = pread(file.get(), buffer.data(), buffer.size(), offset);
    const int os_errno = errno;
    if (count < 0 && os_errno == EINTR) continue;
    if (count < 0) return os_error("reading the debug file", os_errno);
    if (count == 0) return static_cast<std::uint32_t>(crc);
    HA_TRY(check_guarded_time("computing the checksum of a debug file"));
    offset += count;
    crc = crc32(crc, buffer.data(), static_cast<uInt>(count));
  }
}

}  // namespace heapattach
