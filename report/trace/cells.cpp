#include "report/trace/cells.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "report/trace/live_samples.h"

namespace heapattach::trace {

namespace {

struct CellKey {
  std::uint64_t of_code = 0;   // stack, type
  std::uint64_t of_actor = 0;  // thread, fiber
  friend bool operator==(const CellKey&, const CellKey&) = default;
};

struct CellHash {
  std::size_t operator()(const CellKey& key) const {
    return static_cast<std::size_t>((key.of_code ^ (key.of_actor << 21 | key.of_actor >> 43)) *
                                    0x9e3779b97f4a7c15ULL);
  }
};

class Counter {
 public:
  Counter(const Trace& trace, const CellParts& parts) : trace_(trace), parts_(parts) {}

  std::vector<Cell> count() && {
    EventLog::Reader reader(trace_.events);
    for (Event event; reader.next(event);) {
      switch (event.kind) {
        case EventKind::Alloc: allocate(event); break;
        case EventKind::Realloc:
          if (event.address == event.old_address) break;
          end(live_.remove(event.old_address));
          allocate(event);
          break;
        case EventKind::Free:
        case EventKind::Dead: end(live_.remove(event.address)); break;
      }
    }
    for (Cell& cell : cells_) tidy(cell.amounts);
    return std::move(cells_);
  }

 private:
  void allocate(const Event& event) {
    const std::uint32_t index = cell_of(event);
    Amounts& amounts = cells_[index].amounts;
    const double weight = weight_of(event.bytes, trace_.header.every);
    const double bytes = weight * static_cast<double>(event.bytes);
    amounts += {1, weight, bytes, weight, bytes};
    // What was at the address is gone, though nothing said so.
    end(live_.put(event.address, {event.bytes, index}));
  }

  void end(const std::optional<LiveSamples::Sample>& sample) {
    if (!sample) return;
    Amounts& amounts = cells_[sample->cell].amounts;
    const double weight = weight_of(sample->bytes, trace_.header.every);
    amounts.in_use_objects -= weight;
    amounts.in_use_bytes -= weight * static_cast<double>(sample->bytes);
  }

  std::uint32_t cell_of(const Event& event) {
    const std::uint32_t thread = parts_.threads ? event.thread : kNone;
    const std::uint32_t fiber = parts_.fibers ? event.fiber : kNone;
    const CellKey key{std::uint64_t{event.stack} << 32 | event.type,
                      std::uint64_t{thread} << 32 | fiber};
    const auto [at, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(cells_.size()));
    if (is_new) cells_.push_back({event.stack, event.type, thread, fiber, {}});
    return at->second;
  }

  // What is left of a difference of equal sums is not in use.
  static void tidy(Amounts& amounts) {
    constexpr double kLeast = 0.5;
    if (amounts.in_use_objects >= kLeast) return;
    amounts.in_use_objects = 0;
    amounts.in_use_bytes = 0;
  }

  const Trace& trace_;
  CellParts parts_;
  std::vector<Cell> cells_;
  std::unordered_map<CellKey, std::uint32_t, CellHash> numbers_;
  LiveSamples live_;
};

}  // namespace

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
  return Counter(trace, parts).count();
}

}  // namespace heapattach::trace
