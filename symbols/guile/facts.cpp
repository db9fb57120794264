#include "symbols/guile/facts.h"

namespace heapattach::guile {

namespace {

constexpr std::uint64_t kStruct = 1;    // the lowest bits of a struct's first word
constexpr std::uint64_t kSizeSlot = 5;  // in a vtable of 3.0
constexpr std::uint64_t kSelfSlot = 2;  // in a vtable of 2.2
constexpr std::uint64_t kFewestSlots = 8;
constexpr std::uint64_t kMostSlots = 64;

}  // namespace

std::optional<Facts> facts_from(RemoteAddr first_vtable, const MemoryReader& memory) {
  const auto cell = memory.read_as<std::uint64_t>(first_vtable);
  if (!cell || *cell == 0 || *cell % 8 != 0) return std::nullopt;
  const auto word = [&](std::uint64_t index) {
    const auto read = memory.read_as<std::uint64_t>(RemoteAddr{*cell + index * 8});
    return read ? *read : 0;
  };
  if (word(0) == *cell + kStruct) {
    const std::uint64_t size = word(1 + kSizeSlot);
    if (size < kFewestSlots || size > kMostSlots) return std::nullopt;
    return Facts{.slots_at = 8, .vtable_name = 4};
  }
  if (word(0) == *cell + 16 + kStruct && word(1) == *cell + 16 && word(2 + kSelfSlot) == *cell) {
    return Facts{.slots_at = 16, .leads_to_slots = true, .vtable_name = 5};
  }
  return std::nullopt;
}

std::optional<Facts> find_guile(const Modules& modules, const MemoryReader& memory) {
  const auto first_vtable = modules.find_symbol("scm_standard_vtable_vtable");
  if (!first_vtable) return std::nullopt;
  auto facts = facts_from(first_vtable->address, memory);
  if (!facts) return std::nullopt;
  const auto smobs = modules.find_symbol("scm_smobs");
  const auto count = modules.find_symbol("scm_numsmob");
  if (smobs && count) {
    facts->smobs = smobs->address;
    const auto made = memory.read_as<std::uint64_t>(count->address);
    facts->smob_types = made ? *made : 0;
  }
  return facts;
}

}  // namespace heapattach::guile
