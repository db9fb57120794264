#include "report/trace/cells.h"

#include <algorithm>
#include <cmath>

namespace heapattach::trace {

namespace {

using Clock = std::chrono::steady_clock;

// Subtracting equal sums may leave a tiny remainder, which counts as nothing in use.
void tidy(Amounts& amounts) {
  constexpr double kLeast = 0.5;
  if (amounts.in_use_objects >= kLeast) return;
  amounts.in_use_objects = 0;
  amounts.in_use_bytes = 0;
}

}  // namespace

std::size_t CellCounter::Hash::operator()(const Key& key) const {
  return static_cast<std::size_t>((key.of_code ^ (key.of_actor << 21 | key.of_actor >> 43)) *
                                  0x9e3779b97f4a7c15ULL);
}

void CellCounter::add(const Event& event) {
  switch (event.kind) {
    case EventKind::Alloc: return allocate(event);
    case EventKind::Realloc:
      if (event.address == event.old_address) return;
      end(live_.remove(event.old_address));
      return allocate(event);
    case EventKind::Free:
    case EventKind::Dead: return end(live_.remove(event.address));
  }
}

std::vector<Cell> CellCounter::cells() const {
  std::vector<Cell> cells = cells_;
  for (Cell& cell : cells) tidy(cell.amounts);
  return cells;
}

void CellCounter::allocate(const Event& event) {
  const std::uint32_t index = cell_of(event);
  Amounts& amounts = cells_[index].amounts;
  const double weight = weight_of(event.bytes, every_);
  const double bytes = weight * static_cast<double>(event.bytes);
  amounts += {1, weight, bytes, weight, bytes};
  // The object that was at the address is gone, although its end was not recorded.
  end(live_.put(event.address, {event.bytes, index}));
}

void CellCounter::end(const std::optional<LiveSamples::Sample>& sample) {
  if (!sample) return;
  Amounts& amounts = cells_[sample->cell].amounts;
  const double weight = weight_of(sample->bytes, every_);
  amounts.in_use_objects -= weight;
  amounts.in_use_bytes -= weight * static_cast<double>(sample->bytes);
}

std::uint32_t CellCounter::cell_of(const Event& event) {
  const std::uint32_t thread = parts_.threads ? event.thread : kNone;
  const std::uint32_t fiber = parts_.fibers ? event.fiber : kNone;
  const Key key{std::uint64_t{event.stack} << 32 | event.type, std::uint64_t{thread} << 32 | fiber};
  const auto [at, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(cells_.size()));
  if (is_new) cells_.push_back({event.stack, event.type, thread, fiber, {}});
  return at->second;
}

Amounts& Amounts::operator+=(const Amounts& other) {
  samples += other.samples;
  allocations += other.allocations;
  bytes += other.bytes;
  in_use_objects += other.in_use_objects;
  in_use_bytes += other.in_use_bytes;
  return *this;
}

double weight_of(std::uint64_t bytes, std::uint64_t every) {
  if (every <= 1) return 1;
  const double share =
      static_cast<double>(std::max<std::uint64_t>(1, bytes)) / static_cast<double>(every);
  return -1 / std::expm1(-share);
}

std::vector<Cell> count_cells(const Trace& trace, const CellParts& parts) {
  return count_cells(trace, parts, Clock::time_point::max()).cells;
}

CountedCells count_cells(const Trace& trace, const CellParts& parts, Clock::time_point until) {
  constexpr std::size_t kBetweenLooks = 4096;
  CellCounter counter(trace.header.every, parts);
  EventLog::Reader reader(trace.events);
  std::size_t read = 0;
  for (Event event; reader.next(event);) {
    if (++read % kBetweenLooks == 0 && Clock::now() >= until) return {counter.cells(), true};
    counter.add(event);
  }
  return {counter.cells(), false};
}

}  // namespace heapattach::trace
