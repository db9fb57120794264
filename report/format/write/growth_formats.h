#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/analyze/difference.h"
#include "report/analyze/edge_names.h"
#include "report/analyze/growth_holders.h"
#include "report/format/write/columns.h"
#include "report/model/origin_check.h"

// Formats what grew: between two or three snapshots, or in each round of a watch.
namespace heapattach {

enum class GrowthKind : std::uint8_t { Two, Three, Watch };

// The source of each compared snapshot.
struct GrowthSource {
  std::string name;  // a file, "process 4711"
  pid_t pid = 0;
  std::string exe;
  std::string captured;
  std::uint64_t objects = 0;  // reachable ones
  std::uint64_t bytes = 0;
  Attributes resource{};  // as in the header
};

struct GrowthReport {
  GrowthKind kind = GrowthKind::Two;
  std::vector<GrowthSource> sources;
  snapshot::OriginCheck origins;
  analyze::Difference difference;  // with the rows to show, in order
  analyze::GrowthHolders holders{};
  const snapshot::Snapshot* last =
      nullptr;  // the snapshot that `holders` refers to; null if there are no holders
  const snapshot::Snapshot* first = nullptr;  // likewise, if its references are known, too

  // Whether objects were matched by address.
  [[nodiscard]] bool has_objects() const {
    return kind != GrowthKind::Watch && origins.is_same_process;
  }
  [[nodiscard]] bool has_kept() const { return kind == GrowthKind::Three && has_objects(); }
};

// "1000 new Session retain 96000 bytes, 94 % of what is new".
[[nodiscard]] std::string sentence_of(const GrowthReport& report,
                                      const analyze::GrowthHolder& holder);
// Everything on one holder for people: its number in the list, the sentence, what else is new in
// it, and the paths to it.
[[nodiscard]] std::string holder_text(const GrowthReport& report,
                                      std::size_t index,
                                      analyze::EdgeNames& names,
                                      const TextStyle& style);
[[nodiscard]] JsonRecord holder_record(const GrowthReport& report,
                                       const analyze::GrowthHolder& holder,
                                       analyze::EdgeNames& names);
// These rows, with the columns that growth_table.cpp declares.
[[nodiscard]] Grid growth_grid(const GrowthReport& report,
                               std::span<const analyze::TypeGrowth> rows);
[[nodiscard]] std::string format_growth_table(const GrowthReport& report, const TextStyle& style);
[[nodiscard]] std::string format_growth_json(const GrowthReport& report);

}  // namespace heapattach
