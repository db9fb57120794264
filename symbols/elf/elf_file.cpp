#include "symbols/elf/elf_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "attach/sandbox/sandbox.h"
#include "symbols/elf/elf_bytes.h"

namespace heapattach {

namespace {

constexpr off_t kMostSummedBytes = off_t{4} << 30;
constexpr std::chrono::milliseconds kTime{20'000};
// For headers and sections. Symbols are in a worker twice: as libelf reads them, and packed.
constexpr std::uint64_t kMemory = std::uint64_t{128} << 20;

using Bytes = std::vector<std::byte>;

SandboxLimits limits_for(bool with_symbols, std::uint64_t file_bytes, const Deadline& deadline) {
  SandboxLimits limits;
  limits.time = kTime;
  limits.deadline = deadline;
  limits.memory_bytes = kMemory + (with_symbols ? 2 * std::min(file_bytes, kMostFileBytes) : 0) +
                        (with_symbols ? kMostFileBytes : 0);
  limits.output_bytes = kMostFileBytes + kMemory;
  return limits;
}

Result<ElfFacts> parse_in_sandbox(const Fd& file,
                                  bool with_symbols,
                                  std::uint64_t file_bytes,
                                  const Deadline& deadline) {
  SandboxLimits limits = limits_for(with_symbols, file_bytes, deadline);
  limits.descriptors = {file.get()};
  SandboxResult result = HA_TRY(run_sandboxed(
      [&](SandboxOutput& out) { out.write(to_bytes(parse_elf(file, with_symbols))); }, limits));
  return elf_facts_from_bytes(std::move(result.output), file_bytes);
}

// The cost of a file's symbols, as part of a FileShare.
std::uint64_t cost_of(const ElfFacts& facts) {
  return std::max<std::uint64_t>(facts.symbol_cost, facts.symbols.bytes().size());
}

// Runs in the worker: the results of all files, each after its length.
void parse_all(std::span<const Fd> files, SandboxOutput& out) {
  std::vector<FileShare> shares(files.size());  // as the parent will have them
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Result<ElfFacts> facts = parse_elf(files[i], true);
    if (facts && facts->symbols_problem.empty()) {
      [[maybe_unused]] const bool has_room = shares[i].take(cost_of(*facts));
    }
    const Bytes bytes = to_bytes(facts);
    const std::uint64_t length = bytes.size();
    out.write(std::as_bytes(std::span(&length, 1)));
    out.write(bytes);
  }
}

// One for each file; Malformed if the bytes are not exactly that.
Result<std::vector<Bytes>> cut_results(std::span<const std::byte> bytes, std::size_t count) {
  std::vector<Bytes> results;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t length = 0;
    if (bytes.size() < sizeof length) break;
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes = bytes.subspan(sizeof length);
    if (length > bytes.size()) break;
    const auto result = bytes.first(length);
    results.emplace_back(result.begin(), result.end());
    bytes = bytes.subspan(length);
  }
  if (results.size() == count && bytes.empty()) return results;
  return Error{ErrorKind::Malformed, "the worker returned an invalid result"};
}

Result<std::uint64_t> size_of(const Fd& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return os_error("fstat", errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorKind::Malformed, "not a regular file"};
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::vector<Bytes>> parse_all_in_sandbox(std::span<const Fd> files,
                                                const Deadline& deadline) {
  std::uint64_t largest = 0;
  std::vector<int> descriptors;
  for (const Fd& file : files) {
    largest = std::max(largest, HA_TRY(size_of(file)));
    descriptors.push_back(file.get());
  }
  SandboxLimits limits = limits_for(true, largest, deadline);
  limits.descriptors = std::move(descriptors);
  const SandboxResult result =
      HA_TRY(run_sandboxed([&](SandboxOutput& out) { parse_all(files, out); }, limits));
  return cut_results(result.output, files.size());
}

}  // namespace

Result<ElfFile> ElfFile::made(Fd file, ElfFacts facts) {
  ElfFile elf(std::move(file), std::move(facts));
  const std::uint64_t cost = cost_of(elf.facts_);
  if (!elf.symbols_problem().empty() || elf.share_.take(cost)) return elf;
  elf.facts_.symbols = {};
  elf.facts_.symbols_problem =
      fmt::format("its symbols would take {} MiB, and those of all files may take {}", cost >> 20,
                  kMostFileBytes >> 20);
  return elf;
}

Result<ElfFile> ElfFile::open(Fd file, With what, const Deadline& deadline) {
  const std::uint64_t file_bytes = HA_TRY(size_of(file));
  const bool with_symbols = what == With::Symbols;
  ElfFacts facts =
      HA_TRY(has_no_rights() ? parse_elf(file, with_symbols)
                             : parse_in_sandbox(file, with_symbols, file_bytes, deadline));
  if (!with_symbols) return ElfFile(std::move(file), std::move(facts));
  return made(std::move(file), std::move(facts));
}

std::vector<Result<ElfFile>> ElfFile::open_all(std::vector<Fd> files, const Deadline& deadline) {
  std::vector<Result<ElfFile>> opened;
  const auto parsed = files.size() > 1 && !has_no_rights()
                          ? parse_all_in_sandbox(files, deadline)
                          : Result<std::vector<Bytes>>(std::vector<Bytes>());
  const bool is_whole = parsed && parsed->size() == files.size();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!is_whole) {
      opened.push_back(open(std::move(files[i]), With::Symbols, deadline));
      continue;
    }
    const auto file_bytes = size_of(files[i]);
    auto facts = file_bytes ? elf_facts_from_bytes((*parsed)[i], *file_bytes)
                            : Result<ElfFacts>(file_bytes.error());
    opened.push_back(facts ? made(std::move(files[i]), std::move(*facts))
                           : Result<ElfFile>(facts.error()));
  }
  return opened;
}

bool ElfFile::has_section(std::string_view name) const {
  return std::find(facts_.sections.begin(), facts_.sections.end(), name) != facts_.sections.end();
}

bool ElfFile::has_debug_information() const {
  return has_section(".debug_info") || has_section(".zdebug_info");
}

std::vector<ElfSymbol> ElfFile::symbols(std::string_view prefix) const {
  std::vector<ElfSymbol> found;
  facts_.symbols.each([&](const ElfSymbol& symbol) {
    if (symbol.name.starts_with(prefix)) found.push_back(symbol);
  });
  return found;
}

Result<std::uint32_t> debug_link_crc(const Fd& file, const Deadline& deadline) {
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
    HA_TRY(deadline.check("computing the checksum of a debug file"));
    offset += count;
    crc = crc32(crc, buffer.data(), static_cast<uInt>(count));
  }
}

}  // namespace heapattach
