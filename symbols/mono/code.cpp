#include "symbols/mono/code.h"

#include <algorithm>
#include <array>

#include "attach/arch/addresses.h"
#include "symbols/mono/classes.h"

namespace heapattach::mono {

namespace {

constexpr std::uint64_t kDomainBytes = 0x400;  // of a domain, where its table may be
constexpr std::uint64_t kMostChunks = 1 << 16;
constexpr std::uint64_t kMostEntries = 64;  // of a chunk
constexpr std::uint64_t kMostCode = 1 << 24;
constexpr std::size_t kStartBytes = std::size_t{1} << 20;

// Offsets in the table of methods, and in a chunk of it.
constexpr std::uint64_t kChunkCount = 8;
constexpr std::uint64_t kChunks = 16;
constexpr std::uint64_t kEntryCount = 4;
constexpr std::uint64_t kEntries = 24;

// The record of a method's code.
struct Record {
  std::uint64_t method = 0;
  std::uint64_t next = 0;
  std::uint64_t code = 0;
  std::uint32_t unwind_info = 0;
  std::uint32_t bytes = 0;
  std::uint32_t flags = 0;
  std::uint32_t unused = 0;
};
constexpr std::uint32_t kIsTrampoline = 1U << 28U;

class TableReader {
 public:
  TableReader(const Facts& facts, const MemoryReader& memory, const MemoryMap& map)
      : memory_(memory),
        map_(map),
        classes_(facts, [&memory](std::uint64_t at) -> std::optional<std::uint64_t> {
          const auto word = memory.read_as<std::uint64_t>(RemoteAddr{at});
          return word ? std::optional(*word) : std::nullopt;
        }) {}

  [[nodiscard]] std::vector<std::uint64_t> domains() const { return classes_.domains(); }

  // Calls `see` with the records in the table of a domain.
  template <class See>
  void for_each(std::uint64_t domain, const See& see) {
    for (std::uint64_t at = 0; domain != 0 && at < kDomainBytes; at += 8) {
      const std::uint64_t table = word(domain + at);
      if (table == 0 || word(table) != domain) continue;
      const std::uint64_t count = word(table + kChunkCount) & 0xffffffff;
      if (count == 0 || count > kMostChunks || !record_at(first_of(word(table + kChunks))))
        continue;
      for (std::uint64_t i = 0; i < count; ++i) in_chunk(word(table + kChunks + i * 8), see);
      return;
    }
  }

  [[nodiscard]] std::string name_of(const Record& record) {
    if ((record.flags & kIsTrampoline) != 0) return "(trampoline of Mono)";
    return classes_.method_name(record.method);
  }

  [[nodiscard]] std::vector<std::string> warnings() const { return classes_.warnings(); }

 private:
  [[nodiscard]] std::uint64_t word(std::uint64_t at) const {
    if (at == 0 || at % 8 != 0 || at >= kUsualAddressEnd) return 0;
    const auto found = memory_.read_as<std::uint64_t>(RemoteAddr{at});
    return found ? *found : 0;
  }
  [[nodiscard]] std::uint64_t first_of(std::uint64_t chunk) const { return word(chunk + kEntries); }

  template <class See>
  void in_chunk(std::uint64_t chunk, const See& see) const {
    std::array<std::uint64_t, kMostEntries> entries{};
    const std::uint64_t count =
        std::min<std::uint64_t>(word(chunk) >> kEntryCount * 8, entries.size());
    const auto wanted = std::span(entries).first(count);
    if (!memory_.read(RemoteAddr{chunk + kEntries}, std::as_writable_bytes(wanted))) return;
    for (const std::uint64_t entry : wanted) {
      if (const auto record = record_at(entry)) see(*record);
    }
  }

  // The record at `at`; nothing if its code is not where generated code may be.
  [[nodiscard]] std::optional<Record> record_at(std::uint64_t at) const {
    if (at == 0 || at % 8 != 0 || at >= kUsualAddressEnd) return std::nullopt;
    const auto record = memory_.read_as<Record>(RemoteAddr{at});
    if (!record || record->bytes == 0 || record->bytes > kMostCode) return std::nullopt;
    const Mapping* const mapping = map_.find(RemoteAddr{record->code});
    const bool is_code = mapping != nullptr && mapping->executable && mapping->is_anonymous() &&
                         mapping->range.end() - RemoteAddr{record->code} >= record->bytes;
    return is_code ? std::optional(*record) : std::nullopt;
  }

  const MemoryReader& memory_;
  const MemoryMap& map_;
  ClassReader classes_;
};

}  // namespace

Methods methods_at(const Facts& facts,
                   std::vector<std::uint64_t> words,
                   const MemoryReader& memory,
                   const MemoryMap& map) {
  std::sort(words.begin(), words.end());
  std::vector<Method> methods;
  TableReader table(facts, memory, map);
  const auto see = [&](const Record& record) {
    const auto word = std::lower_bound(words.begin(), words.end(), record.code);
    if (word == words.end() || *word - record.code > record.bytes) return;
    Method method{{RemoteAddr{record.code}, record.bytes}, table.name_of(record), {}};
    method.start.resize(std::min<std::size_t>(kStartBytes, record.bytes));
    if (!memory.read(method.code.start, method.start)) return;
    methods.push_back(std::move(method));
  };
  std::vector<std::uint64_t> domains = table.domains();
  if (domains.empty()) domains.push_back(facts.domain);
  for (const std::uint64_t domain : domains) table.for_each(domain, see);
  std::sort(methods.begin(), methods.end(),
            [](const Method& a, const Method& b) { return a.code.start < b.code.start; });
  // A method that was compiled again may be in the table twice. No method may overlap the next.
  const auto overlaps = [](const Method& a, const Method& b) {
    return b.code.start < a.code.end();
  };
  methods.erase(std::unique(methods.begin(), methods.end(), overlaps), methods.end());
  return {std::move(methods), table.warnings()};
}

}  // namespace heapattach::mono
