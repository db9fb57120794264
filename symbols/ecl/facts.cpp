#include "symbols/ecl/facts.h"

#include <algorithm>
#include <span>

#include "symbols/boehm/arch/code_uses.h"
#include "symbols/ecl/types.h"

namespace heapattach::ecl {

namespace {

constexpr std::uint64_t kLeastEntry = 24;  // an entry of the table: size, allocator, type
constexpr std::uint64_t kMostEntry = 32;   // the same, with a descriptor for the collector
constexpr std::uint32_t kMostBytes = 4096;
constexpr std::uint8_t kMostTypes = 127;
constexpr std::uint64_t kMostSymbols = 1U << 20;
constexpr std::size_t kCodeBytes = 64;  // how much of the function that reads the table

std::vector<std::uint32_t> read_sizes(RemoteAddr table,
                                      std::uint64_t entry_bytes,
                                      const MemoryReader& memory) {
  std::vector<std::uint32_t> sizes(kBignum);
  for (std::uint64_t type = kBignum; type < kMostTypes; ++type) {
    const RemoteAddr at = table + type * entry_bytes;
    const auto size = memory.read_as<std::uint64_t>(at);
    const auto number = memory.read_as<std::uint64_t>(at + (entry_bytes - 8));
    if (!size || !number || *number != type || *size == 0 || *size > kMostBytes) break;
    sizes.push_back(static_cast<std::uint32_t>(*size));
  }
  return sizes;
}

}  // namespace

std::vector<std::uint32_t> read_sizes(RemoteAddr table, const MemoryReader& memory) {
  for (std::uint64_t entry = kLeastEntry; entry <= kMostEntry; entry += 8) {
    auto sizes = read_sizes(table, entry, memory);
    if (sizes.size() > kBignum + std::size_t{kLaterTypes}) return sizes;
  }
  return {};
}

// There may be one more type at the end, for vector registers of SSE.
bool are_known_types(const Facts& facts) {
  const std::size_t count = facts.sizes.size();
  const std::size_t expected = std::size_t{facts.symbol} + kLaterTypes;
  if (count != expected && count != expected + 1) return false;
  for (const Later later : {kSymbol, kVector, kString, kBaseString, kBytecodes, kInstance}) {
    const auto type = static_cast<std::uint8_t>(facts.symbol + later);
    if (facts.size_of(type) != kLater.at(later).bytes) return false;
  }
  return true;
}

std::optional<Facts> find_ecl(const Modules& modules, const MemoryReader& memory) {
  const auto symbols = modules.find_symbol("cl_symbols");
  const auto looks_up = modules.find_symbol("ecl_object_byte_size");
  if (!symbols || !looks_up) return std::nullopt;
  const Module* module = modules.find(looks_up->address);
  const auto first = memory.read_as<std::uint8_t>(symbols->address);
  if (module == nullptr || !first) return std::nullopt;
  Facts facts;
  facts.symbol = *first;
  const auto code = module->file_bytes(looks_up->address);
  for (const RemoteAddr table : boehm::loaded_addresses(
           module->machine(), code.first(std::min(code.size(), kCodeBytes)), looks_up->address)) {
    facts.sizes = read_sizes(table, memory);
    if (are_known_types(facts)) break;
  }
  if (!are_known_types(facts)) return std::nullopt;
  const auto core = modules.find_symbol("cl_core");
  const auto count = modules.find_symbol("cl_num_symbols_in_core");
  if (!core || !count) return std::nullopt;
  facts.core = {core->address, core->bytes};
  const auto number = memory.read_as<std::uint64_t>(count->address);
  if (!number || *number > kMostSymbols) return std::nullopt;
  facts.symbols = {symbols->address, *number * kLater.at(kSymbol).bytes};
  return facts;
}

}  // namespace heapattach::ecl
