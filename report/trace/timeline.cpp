#include "report/trace/timeline.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "report/trace/live_samples.h"
#include "report/trace/sites.h"

namespace heapattach::trace {

namespace {

class TimelineMaker {
 public:
  TimelineMaker(const Trace& trace, const std::vector<std::string>& types, std::size_t steps)
      : trace_(trace), types_(types), steps_(steps), changes_(steps) {
    line_.step_ns = (trace.header.duration_ns + steps - 1) / steps;
  }

  Timeline make(std::size_t most_rows) && {
    if (line_.step_ns == 0) return {};
    EventLog::Reader reader(trace_.events);
    for (Event event; reader.next(event);) add(event);
    double in_use = 0;
    for (const double change : changes_) {
      in_use = std::max(0.0, in_use + change);
      line_.in_use.push_back(in_use);
    }
    for (auto& [type, bytes] : bytes_) line_.rows.push_back({type, std::move(bytes)});
    keep_largest(most_rows);
    return std::move(line_);
  }

 private:
  void add(const Event& event) {
    const std::size_t step = step_of(event.time_ns);
    const bool is_move = event.kind == EventKind::Realloc;
    if (is_move && event.address == event.old_address) return;
    if (event.kind != EventKind::Alloc) {
      end(live_.remove(is_move ? event.old_address : event.address), step);
    }
    if (event.kind != EventKind::Alloc && !is_move) return;
    if (!is_meant(event.type)) return;
    const double bytes = estimate(event.bytes);
    std::vector<double>& row = bytes_[event.type];
    row.resize(steps_);
    row[step] += bytes;
    changes_[step] += bytes;
    end(live_.put(event.address, {event.bytes, 0}), step);
  }

  void end(const std::optional<LiveSamples::Sample>& sample, std::size_t step) {
    if (sample) changes_[step] -= estimate(sample->bytes);
  }

  // Events that were read from the ring after the end belong to the last step.
  [[nodiscard]] std::size_t step_of(std::uint64_t time_ns) const {
    return std::min<std::size_t>(time_ns / line_.step_ns, steps_ - 1);
  }
  [[nodiscard]] double estimate(std::uint64_t bytes) const {
    return weight_of(bytes, trace_.header.every) * static_cast<double>(bytes);
  }
  bool is_meant(std::uint32_t type) {
    const auto [at, is_new] = is_meant_.try_emplace(type, false);
    if (is_new) at->second = is_chosen(type_name(trace_, type), types_);
    return at->second;
  }

  void keep_largest(std::size_t most_rows) {
    const auto sum = [](const Timeline::Row& row) {
      return std::accumulate(row.bytes.begin(), row.bytes.end(), 0.0);
    };
    std::ranges::stable_sort(line_.rows, std::ranges::greater(), sum);
    if (line_.rows.size() <= most_rows) return;
    line_.others.resize(steps_);
    for (std::size_t i = most_rows; i < line_.rows.size(); ++i) {
      std::ranges::transform(line_.others, line_.rows[i].bytes, line_.others.begin(), std::plus());
    }
    line_.rows.resize(most_rows);
  }

  const Trace& trace_;
  const std::vector<std::string>& types_;
  std::size_t steps_;
  std::vector<double> changes_;  // changes of the bytes in use, by step
  std::map<std::uint32_t, std::vector<double>> bytes_;
  std::map<std::uint32_t, bool> is_meant_;
  LiveSamples live_;
  Timeline line_;
};

}  // namespace

Timeline make_timeline(const Trace& trace,
                       const std::vector<std::string>& types,
                       std::size_t steps,
                       std::size_t most_rows) {
  return TimelineMaker(trace, types, steps).make(most_rows);
}

}  // namespace heapattach::trace
