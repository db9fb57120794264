#include "report/format/read/address_index.h"

#include <algorithm>
#include <bit>
#include <random>

namespace heapattach::read {

AddressIndex::AddressIndex(std::span<const snapshot::Object> objects) : objects_(objects) {
  std::uint64_t pages = 0;
  std::uint64_t last = ~std::uint64_t{0};
  for (const snapshot::Object& object : objects) {
    const std::uint64_t page = std::uint64_t{object.address} >> 12;
    if (page != last) ++pages;
    last = page;
  }
  const std::uint64_t slots = std::bit_ceil(2 * pages + 2);
  slots_.resize(slots);
  shift_ = 64 - std::countr_zero(slots);
  // Random, so that nobody can craft a file whose pages all want one slot.
  std::random_device random;
  multiplier_ = (std::uint64_t{random()} << 32 | random()) | 1;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    Slot& slot = place_for(objects[i].address >> 12);
    if (slot.count++ == 0) {
      slot.page = objects[i].address >> 12;
      slot.first = static_cast<std::uint32_t>(i);
    }
  }
}

AddressIndex::Slot& AddressIndex::place_for(std::uint64_t page) {
  std::size_t at = slot_of(page);
  while (slots_[at].count != 0 && slots_[at].page != page) at = (at + 1) & (slots_.size() - 1);
  return slots_[at];
}

snapshot::ObjectIndex AddressIndex::find(std::uint64_t address) const {
  const std::uint64_t page = address >> 12;
  std::size_t at = slot_of(page);
  while (slots_[at].page != page) {
    if (slots_[at].count == 0) return kNone;
    at = (at + 1) & (slots_.size() - 1);
  }
  const Slot& slot = slots_[at];
  const auto here = objects_.subspan(slot.first, slot.count);
  // Objects of a page mostly have one size and few gaps.
  const std::uint64_t first = here.front().address;
  const std::uint64_t last = here.back().address;
  if (address < first || address > last) return kNone;
  const std::uint64_t likely =
      last == first ? 0 : (address - first) * (slot.count - 1) / (last - first);
  if (here[likely].address == address) return slot.first + static_cast<std::uint32_t>(likely);
  const auto found = std::lower_bound(
      here.begin(), here.end(), address,
      [](const snapshot::Object& object, std::uint64_t wanted) { return object.address < wanted; });
  if (found == here.end() || found->address != address) return kNone;
  return slot.first + static_cast<std::uint32_t>(found - here.begin());
}

}  // namespace heapattach::read
