#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "report/format/write/sampled_code.h"
#include "report/model/model.h"
#include "report/trace/places.h"
#include "report/trace/trace.h"

// Joins the samples of a recording with the objects of a heap that was read at its end.
namespace heapattach {

// The samples that had not ended when the recording did.
class SamplesInUse {
 public:
  explicit SamplesInUse(const trace::Trace& trace);

  // The sample of an object; null if it has none.
  [[nodiscard]] const trace::Event* of(const snapshot::Snapshot& snapshot,
                                       const snapshot::Object& object) const;

 private:
  std::unordered_map<std::uint64_t, trace::Event> by_address_;
};

// Groups samples by what their stacks look like.
class CodeSites {
 public:
  void add(const trace::Event& event, std::uint64_t every, trace::Places& places);
  [[nodiscard]] bool empty() const { return sites_.empty(); }
  // Most objects first. The estimates are reduced if they exceed `most`, the objects that there
  // are.
  [[nodiscard]] std::vector<CodeSite> sorted(std::uint64_t most) const;

 private:
  std::map<trace::Places::Path, CodeSite> sites_;
};

// About a recording, of whose samples so many are of interest.
[[nodiscard]] CodeRecording facts_of(const trace::Trace& trace, std::uint64_t samples);

}  // namespace heapattach
