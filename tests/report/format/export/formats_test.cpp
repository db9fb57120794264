#include "report/format/export/formats.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <doctest/doctest.h>

#include "report/cli/report_table.h"

namespace heapattach {

TEST_CASE("each format can be chosen for some report, and its name is clear in each") {
  std::set<const Format*> chosen;
  for (const ReportRow& row : report_rows()) {
    CAPTURE(row.name);
    std::set<std::string_view> names;
    for (const Format* const format : formats_of(row)) {
      CAPTURE(format->name);
      CHECK(names.insert(format->name).second);
      CHECK(find_format(format->name, row.writers) == format);
      chosen.insert(format);
    }
  }
  for (const Format* const format : formats_with([](const Format&) { return true; })) {
    CAPTURE(format->name);
    CHECK(chosen.count(format) == 1);
  }
}

TEST_CASE(
    "a report is for people unless another format is asked for, except graphs and snapshots") {
  for (const ReportRow& row : report_rows()) {
    CAPTURE(row.name);
    const auto formats = formats_of(row);
    if (formats.empty()) continue;
    const bool is_for_programs = row.report == Report::Graph || row.report == Report::Snapshot ||
                                 row.report == Report::Inject;
    CHECK((formats.front()->read_by == ReadBy::People) == !is_for_programs);
  }
}

}  // namespace heapattach
