#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "inject/remote_control.h"

namespace heapattach {

// Whether a thread can make our calls under its seccomp filters.
enum class Filters : std::uint8_t {
  None,
  Harmless,  // each call runs, or fails where that does no harm
  MayHarm,
  Unknown,  // we may not read the filters
};

// Judges the filters of a process's threads while it is stopped. Threads usually have the same
// filters, and each distinct filter is examined only once.
class FilterVerdicts {
 public:
  // Returns the verdict on the worst of the filters that apply to one thread.
  Filters judge(const std::vector<SeccompFilter>& filters);

  // The number of threads with a filter that may harm them.
  [[nodiscard]] std::size_t harmed_threads() const { return harmed_threads_; }

  // The number of distinct filters that were examined.
  [[nodiscard]] std::size_t followed() const { return known_.size(); }

 private:
  struct Before {
    bool operator()(const SeccompFilter& a, const SeccompFilter& b) const;
  };

  std::map<SeccompFilter, Filters, Before> known_;
  std::size_t harmed_threads_ = 0;
};

}  // namespace heapattach
