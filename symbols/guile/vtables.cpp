#include "symbols/guile/vtables.h"

#include <algorithm>

#include "symbols/guile/values.h"

namespace heapattach::guile {

namespace {

constexpr std::uint64_t kLayoutSlot = 0;
constexpr std::uint64_t kFlagsSlot = 1;
constexpr std::uint64_t kMakesVtables = 2;  // of the flags
constexpr std::uint64_t kOwnSlots = 8;      // slots of every vtable; those of its kind follow
constexpr std::uint64_t kMostOwnSlots = 32;
constexpr std::uint64_t kMostSlots = 4096;

}  // namespace

const Vtable* Vtables::of(std::uint64_t first_word) {
  const auto [at, is_new] = known_.try_emplace(first_word);
  if (is_new) {
    if (const auto cell = cell_of_vtable(first_word)) at->second = read(*cell);
  }
  return at->second ? &*at->second : nullptr;
}

std::optional<std::uint64_t> Vtables::cell_of_vtable(std::uint64_t first_word) const {
  if (!is_struct_word(first_word)) return std::nullopt;
  const std::uint64_t to = first_word - 1;
  if (!facts_.leads_to_slots) return view_.may_refer_to(to) ? std::optional(to) : std::nullopt;
  if (to < facts_.slots_at) return std::nullopt;
  const std::uint64_t cell = to - facts_.slots_at;
  if (view_.word(cell + 8) != to) return std::nullopt;
  return cell;
}

std::optional<std::uint64_t> Vtables::slot(std::uint64_t cell, std::uint64_t index) const {
  return view_.word(cell + facts_.slots_at + index * 8);
}

// A layout has two characters for each slot. In 2.2, layouts with an array at their end look like
// others, but their instances do not fit.
std::optional<std::uint64_t> Vtables::slots_of_instances(std::uint64_t cell) const {
  const auto layout = slot(cell, kLayoutSlot);
  const auto tag = layout && *layout % 8 == 0 ? view_.word(*layout) : std::nullopt;
  const auto buffer = tag && (*tag & kTagMask) == kSymbol ? view_.word(*layout + 8) : std::nullopt;
  const auto buffer_tag = buffer ? view_.word(*buffer) : std::nullopt;
  if (!buffer_tag || (*buffer_tag & kTagMask) != kStringBuffer) return std::nullopt;
  const auto length = view_.word(*buffer + 8);
  if (!length || *length > 2 * kMostSlots) return std::nullopt;
  return *length / 2;
}

// A vtable is an instance of a vtable of vtables.
std::optional<Vtable> Vtables::read(std::uint64_t cell) const {
  const auto first_word = view_.word(cell);
  const auto maker = first_word ? cell_of_vtable(*first_word) : std::nullopt;
  const auto own_slots = maker ? slots_of_instances(*maker) : std::nullopt;
  const auto slots = slots_of_instances(cell);
  const auto flags = slot(cell, kFlagsSlot);
  if (!own_slots || *own_slots < kOwnSlots || !slots || !flags) return std::nullopt;
  Vtable vtable;
  vtable.name = text_of(view_, slot(cell, facts_.vtable_name).value_or(0));
  vtable.slots = *slots;
  vtable.makes_vtables = (*flags & kMakesVtables) != 0;
  vtable.fields = fields_of(cell, *own_slots, *slots);
  return vtable;
}

// A record's type and a class of GOOPS have a list with one entry for each slot of an instance: its
// name, or a struct that begins with it.
std::vector<std::string> Vtables::fields_of(std::uint64_t cell,
                                            std::uint64_t own_slots,
                                            std::uint64_t fields) const {
  if (fields == 0) return {};
  for (std::uint64_t i = kOwnSlots; i < std::min(own_slots, kMostOwnSlots); ++i) {
    const auto list = list_of(view_, slot(cell, i).value_or(0), fields);
    std::vector<std::string> names;
    for (const std::uint64_t entry : list) {
      const auto tag = entry % 8 == 0 ? view_.word(entry) : std::nullopt;
      const bool is_slot = tag && is_struct_word(*tag);
      names.push_back(text_of(view_, is_slot ? slot(entry, 0).value_or(0) : entry));
      if (names.back().empty()) break;
    }
    if (names.size() == fields && !names.back().empty()) return names;
  }
  return {};
}

}  // namespace heapattach::guile
