#include "report/trace/live_samples.h"

#include <utility>

namespace heapattach::trace {

std::size_t LiveSamples::Table::at(std::uint64_t key) const {
  std::size_t at = home_of(key);
  while (slots_[at].key != 0 && slots_[at].key != key) at = next(at);
  return at;
}

LiveSamples::Slot& LiveSamples::Table::slot_for(std::uint64_t key) {
  if (used_ >= slots_.size() / 8 * 7) grow();
  Slot& slot = slots_[at(key)];
  if (slot.key == 0) ++used_;
  return slot;
}

// Moves back samples that are after their home slot because this slot was taken.
void LiveSamples::Table::remove(const Slot* slot) {
  const std::size_t mask = slots_.size() - 1;
  auto gap = static_cast<std::size_t>(slot - slots_.data());
  for (std::size_t at = next(gap); slots_[at].key != 0; at = next(at)) {
    const std::size_t from_home = (at - home_of(slots_[at].key)) & mask;
    if (from_home < ((at - gap) & mask)) continue;
    slots_[gap] = slots_[at];
    gap = at;
  }
  slots_[gap] = {};
  --used_;
}

void LiveSamples::Table::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key != 0) slots_[at(slot.key)] = slot;
  }
}

LiveSamples::Sample LiveSamples::take(const Slot& slot) {
  Sample sample{slot.bytes, slot.cell};
  if (slot.bytes != kLarge) return sample;
  const auto large = large_.find(slot.key);
  sample.bytes = large->second;
  large_.erase(large);
  return sample;
}

std::optional<LiveSamples::Sample> LiveSamples::put(std::uint64_t address, const Sample& sample) {
  const std::uint64_t key = key_of(address);
  if (key == 0) return std::nullopt;
  Slot& slot = table_of(key).slot_for(key);
  std::optional<Sample> before;
  if (slot.key != 0) before = take(slot);
  const bool is_large = sample.bytes >= kLarge;
  slot = {key, sample.cell, is_large ? kLarge : static_cast<std::uint32_t>(sample.bytes)};
  if (is_large) large_[key] = sample.bytes;
  return before;
}

std::optional<LiveSamples::Sample> LiveSamples::remove(std::uint64_t address) {
  const std::uint64_t key = key_of(address);
  if (key == 0) return std::nullopt;
  Table& table = table_of(key);
  const Slot* const slot = table.find(key);
  if (slot == nullptr) return std::nullopt;
  const Sample sample = take(*slot);
  table.remove(slot);
  return sample;
}

std::vector<std::uint64_t> LiveSamples::addresses() const {
  std::vector<std::uint64_t> found;
  for (const Table& table : tables_) {
    for (const Slot& slot : table.slots()) {
      if (slot.key != 0) found.push_back(slot.key - 1);
    }
  }
  return found;
}

}  // namespace heapattach::trace
