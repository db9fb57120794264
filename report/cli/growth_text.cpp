#include "report/cli/growth_text.h"

#include <utility>

#include "report/cli/text_style.h"
#include "report/format/export/formats.h"

namespace heapattach {

void add_holders(std::span<const snapshot::Snapshot* const> snapshots,
                 snapshot::CountBy by,
                 GrowthReport& report,
                 const std::vector<bool>& known_new) {
  if (!analyze::knows_holders(*snapshots.back())) {
    report.origins.remarks.push_back("the holders of the new objects are unknown: " +
                                     report.sources.back().name + " has no references from roots");
    return;
  }
  report.last = snapshots.back();
  report.holders = analyze::find_growth_holders(snapshots, report.origins.is_same_process, by,
                                                report.difference, known_new);
  if (analyze::knows_holders(*snapshots.front())) {
    report.first = snapshots.front();
    analyze::add_retained(snapshots, by, report.difference);
  } else {
    report.origins.remarks.push_back("the growth of retained bytes is unknown: " +
                                     report.sources.front().name + " has no references from roots");
  }
}

std::string growth_text(const Options& options, snapshot::RowChoice choice, GrowthReport report) {
  constexpr std::uint64_t kRowsOfAScreen = 30;
  const TextStyle style = style_of(options);
  const bool is_for_people = options.format->read_by == ReadBy::People;
  if (is_for_people && style.columns != 0 && !choice.top) choice.top = kRowsOfAScreen;
  const auto order =
      report.has_kept() ? analyze::GrowthOrder::ByKept : analyze::GrowthOrder::ByGrowth;
  report.difference = choose_growth(std::move(report.difference), choice, order);
  return options.format->growth(report, style);
}

}  // namespace heapattach
